package h2

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

// Receiver takes what a stream's reply consists of.
type Receiver interface {
	// TakeField takes a field of its headers or trailers.
	TakeField(hpack.HeaderField)
	// TakeData takes a part of its body, valid until the call returns.
	TakeData([]byte) error
}

// Stream sends the requests of a user, one at a time, each on a stream of its own. The user reads its own connection by
// itself; one that is shared has a reader, which wakes it.
type Stream struct {
	scheme, authority string
	fields            []hpack.HeaderField
	receiver          Receiver
	connection        *Connection
	// wake is nil on a connection of its own.
	wake chan struct{}
	// deadline is when a call on a shared connection fails, since the program's start.
	deadline atomic.Int64

	head Head
	// rest is the part of the request's body that the server's windows have no room for yet.
	rest []byte
	// id is 0 before the server has room for the stream.
	id     uint32
	window int64
	// unreported is what came of the reply since the server last heard of room for more.
	unreported   uint32
	begun, ended bool
	// isPulled has the user woken for each part of the reply.
	isPulled bool
	// err is why the reply hasn't come whole.
	err error
}

// NewStream returns the stream of a user who isn't connected yet, to an authority (host:port); all its requests have
// these fields.
func NewStream(scheme, authority string, receiver Receiver, fields ...hpack.HeaderField) *Stream {
	return &Stream{scheme: scheme, authority: authority, fields: fields, receiver: receiver}
}

// Open starts to use a fresh connection alone.
func (s *Stream) Open(socket net.Conn) {
	if s.connection == nil {
		s.connection = newConnection(s, readBufferBytes)
	}
	s.connection.start(socket)
}

// Share starts to use a fresh connection that others may join.
func (s *Stream) Share(socket net.Conn) transport.Shared {
	c := newConnection(s, sharedReadBufferBytes)
	c.start(socket)
	c.share()
	s.Join(c)
	return c
}

// Join starts to use a connection that another stream of the same kind shares.
func (s *Stream) Join(shared transport.Shared) {
	s.connection = shared.(*Connection)
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
}

// SetDeadline sets when a call on a shared connection fails. While a call is under way it can only be put off.
func (s *Stream) SetDeadline(at time.Time) error {
	s.deadline.Store(int64(at.Sub(epoch)))
	return nil
}

// Close forgets the connection. It cancels a call that is under way on one that is shared.
func (s *Stream) Close() {
	if s.wake == nil || s.connection == nil {
		return
	}
	c := s.connection
	c.mutex.Lock()
	c.cancel(s, transport.ErrStopped)
	c.settle()
	s.connection = nil
}

// Prepare takes a request; its body must stay as it is until the call is over.
func (s *Stream) Prepare(head Head, body []byte) { s.head, s.rest = head, body }

// Send sends what was prepared, or waits for the server to have room for one more stream.
func (s *Stream) Send() {
	c := s.connection
	c.mutex.Lock()
	s.id, s.unreported, s.begun, s.ended, s.err = 0, 0, false, false, nil
	c.admit(s)
	c.settle()
}

// Receive waits for the reply's end. Every error is a *transport.Failure, or one of the receiver's.
func (s *Stream) Receive() error { return s.WaitUntil(nil) }

// WaitUntil waits until the reply has come so far, or whole. It asks while nothing else comes.
func (s *Stream) WaitUntil(hasCome func() bool) error {
	for {
		s.connection.mutex.Lock()
		s.isPulled = hasCome != nil
		isDone, err := s.isPulled && hasCome() || s.ended, s.err
		s.connection.mutex.Unlock()
		switch {
		case isDone:
			return nil
		case err != nil:
			return err
		case s.wake == nil:
			s.connection.step(s)
		default:
			<-s.wake
		}
	}
}

// IsSpent reports, after a call, that the connection takes no further request.
func (s *Stream) IsSpent() bool { return s.connection.IsSpent() }

// isOver reports whether the call has ended, well or not.
func (s *Stream) isOver() bool { return s.ended || s.err != nil }

// fail notes why a call has failed because of its connection.
func (s *Stream) fail(err error) {
	if errors.Is(err, transport.ErrStopped) {
		s.err = transport.ErrStopped
		return
	}
	failure := *transport.FailedCall(err, s.begun)
	failure.Unprocessed = failure.Unprocessed || s.id == 0
	s.err = &failure
}

// notify wakes the user that waits.
func (s *Stream) notify() {
	select {
	case s.wake <- struct{}{}:
	default: // It will look anyhow, or reads by itself.
	}
}
