package h2

import (
	"cmp"
	"math"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

// epoch is what deadlines count from.
var epoch = time.Now()

// Receiver takes what a stream's reply consists of.
type Receiver interface {
	// TakeField takes a field of its headers or trailers.
	TakeField(hpack.HeaderField)
	// TakeData takes a part of its body, valid until the call returns. An error cancels the stream.
	TakeData([]byte) error
}

// Stream sends the requests of a user, one at a time, each on a stream of its own.
type Stream struct {
	scheme, authority string
	receiver          Receiver
	takeField         func(hpack.HeaderField)
	connection        *Connection
	// wake has the user look whether its call is over; nil on a connection of its own.
	wake chan struct{}
	// deadline is when a call on a shared connection fails, since the program's start; timer rings then.
	deadline atomic.Int64
	timer    *time.Timer

	head Head
	// rest is the part of the request's body that the server's windows have no room for yet.
	rest []byte
	// id is 0 before the server has room for the stream.
	id     uint32
	window int64
	// unreported is what came of the reply since the server last heard of room for more.
	unreported   uint32
	begun, ended bool
	// err is why the reply hasn't come whole.
	err error
}

// NewStream returns the stream of a user who isn't connected yet, to an authority (host:port).
func NewStream(scheme, authority string, receiver Receiver) *Stream {
	return &Stream{scheme: scheme, authority: authority, receiver: receiver, takeField: receiver.TakeField}
}

// Open starts to use a fresh connection alone.
func (s *Stream) Open(socket net.Conn) { s.connection = newConnection(s, socket, readBufferBytes) }

// Share makes a fresh connection one that streams may join.
func (s *Stream) Share(socket net.Conn) transport.Shared {
	c := newConnection(s, socket, sharedReadBufferBytes)
	c.isShared, c.streamsMax = true, -1
	c.flush()
	go c.readShared()
	return c
}

// Join starts to use a connection that another stream of the same kind shares.
func (s *Stream) Join(shared transport.Shared) {
	c := shared.(*Connection)
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	} else {
		s.timer.Stop()
	}
	s.connection, s.timer = c, time.AfterFunc(math.MaxInt64, func() { c.expire(s) })
}

// SetDeadline sets when a call on a shared connection fails.
func (s *Stream) SetDeadline(at time.Time) error {
	s.deadline.Store(int64(at.Sub(epoch)))
	s.timer.Reset(time.Until(at))
	return nil
}

// Prepare takes a request; its body must stay as it is until the call is over.
func (s *Stream) Prepare(head Head, body []byte) { s.head, s.rest = head, body }

// Exchange sends what was prepared, when the server has room for one more stream, and waits for the reply's end. It reports
// whether the connection takes no further request. Every error is a *transport.Failure, or one of the receiver's.
func (s *Stream) Exchange() (isLast bool, err error) {
	c := s.connection
	c.mutex.Lock()
	defer c.mutex.Unlock()
	s.id, s.unreported, s.begun, s.ended, s.err = 0, 0, false, false, nil
	switch {
	case c.isSpent():
		s.err = s.failure(cmp.Or[error](c.err, errLeaving))
	case len(c.open) >= c.streamsMax:
		c.queued = append(c.queued, s)
	default:
		c.send(s)
	}
	c.flush()
	for !s.ended && s.err == nil {
		if c.isShared {
			c.mutex.Unlock()
			<-s.wake
			c.mutex.Lock()
			continue
		}
		c.read()
		// Answers to pings that come last go with the next request: servers ping often, to measure the network.
		const pingBytes = headerBytes + 8
		if c.out.Len() > c.pings*pingBytes || c.pings > 0 && !s.ended {
			c.swap()
			_, _ = c.socket.Write(c.sent.Bytes()) // The next read says why it fails.
		}
	}
	return c.isSpent(), s.err
}

// Tend answers what has come on an idle connection, such as pings. Reads fail with EAGAIN where they would wait.
func (s *Stream) Tend() {
	c := s.connection
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.read(); c.out.Len() > 0 {
		c.swap()
		_, _ = c.socket.Write(c.sent.Bytes())
	}
}

// failure returns what an error of the connection is to a call.
func (s *Stream) failure(err error) error {
	failure := *transport.FailedCall(err, s.begun)
	failure.Unprocessed = failure.Unprocessed || s.id == 0
	failure.Message += s.connection.goodbye
	return &failure
}
