// Package h2 is a client's side of HTTP/2 connections. Frames and header compression are golang.org/x/net/http2's. It is
// RFC 9113 without what a load doesn't need: priorities and pushes.
package h2

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"slices"
	"sync"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/transport"
)

const (
	readBufferBytes       = 8 << 10
	sharedReadBufferBytes = 64 << 10
	// Then the connection is replaced: HTTP/2 has no ids beyond 2³¹ - 1.
	streamIDMax = 1 << 30
)

// Connection has the streams of one user, one after the other, or of all who share it.
type Connection struct {
	// mutex guards all but the socket and what reads from it.
	mutex   sync.Mutex
	headers headers
	socket  net.Conn
	frames  frameReader

	// out is what is to be written: the client's preface at first, then frames.
	out    bytes.Buffer
	framer *http2.Framer
	// urgent is set when the server has to hear at once.
	urgent bool
	// isLate is set while what was written is still to be sent by the next read.
	isLate     bool
	writeError error

	peer peer
	// nextID is that of the next stream; open has those that are under way.
	nextID uint32
	open   map[uint32]*Stream
	// queued wait for the server to take one more stream, and blocked for room for the rest of their bodies.
	queued, blocked []*Stream
	reply           reply

	// shared is nil on a user's own connection.
	shared *shared
}

func newConnection(of *Stream, bufferBytes int) *Connection {
	c := &Connection{
		headers: newHeaders(of.scheme, of.authority, of.fields),
		frames:  frameReader{reader: bufio.NewReaderSize(nil, bufferBytes)},
		open:    map[uint32]*Stream{},
	}
	c.framer = http2.NewFramer(&c.out, nil)
	return c
}

// start begins with a fresh socket. The client's preface goes with the first request, so that it costs no packet of its own.
func (c *Connection) start(socket net.Conn) {
	c.socket = socket
	c.frames.reader.Reset(socket)
	c.peer, c.nextID, c.urgent, c.isLate, c.writeError = newPeer(), 1, false, false, nil
	c.headers.reset()
	c.reply.reset()
	clear(c.open)
	c.queued, c.blocked = c.queued[:0], c.blocked[:0]
	c.out.Reset()
	c.out.WriteString(http2.ClientPreface)
	// A bytes.Buffer takes everything, so that errors of the framer would be mistakes of ours.
	_ = c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindowBytes},
	)
	_ = c.framer.WriteWindowUpdate(0, receiveWindowBytes-windowBytes)
}

// IsSpent reports whether the connection takes no further request.
func (c *Connection) IsSpent() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.isSpent()
}

func (c *Connection) isSpent() bool {
	return c.peer.leaving || c.writeError != nil || c.nextID > streamIDMax
}

// admit sends a stream's request, or queues it while the server takes no further stream.
func (c *Connection) admit(s *Stream) {
	if c.shared != nil {
		c.shared.watch(s.deadline.Load())
	}
	switch {
	case c.isSpent():
		s.fail(errLeaving)
	case len(c.open) >= c.peer.streamsMax:
		c.queued = append(c.queued, s)
	default:
		c.send(s)
	}
}

func (c *Connection) send(s *Stream) {
	s.id, s.window = c.nextID, c.peer.initialWindow
	c.nextID += 2
	block, err := c.headers.block(s.head)
	if err == nil {
		err = c.framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: s.id, BlockFragment: block, EndHeaders: true, EndStream: len(s.rest) == 0,
		})
	}
	if err != nil {
		s.err = err
		return
	}
	c.open[s.id] = s
	c.writeBody(s)
}

// writeBody adds as much of a body as the server has room for.
func (c *Connection) writeBody(s *Stream) {
	for len(s.rest) > 0 {
		room := min(c.peer.window, s.window, int64(c.peer.frameBytesMax), int64(len(s.rest)))
		if room <= 0 {
			c.blocked = append(c.blocked, s)
			return
		}
		part := s.rest[:room]
		s.rest = s.rest[room:]
		c.peer.window -= room
		s.window -= room
		_ = c.framer.WriteData(s.id, len(s.rest) == 0, part)
	}
}

// writeBlocked continues bodies when there may be room for more of them.
func (c *Connection) writeBlocked() {
	waiting := c.blocked
	c.blocked = c.blocked[:0] // Those that still wait take no place before their own.
	for _, each := range waiting {
		c.urgent = true
		c.writeBody(each)
	}
}

// end takes a stream off the connection whose reply has come whole, or which has failed.
func (c *Connection) end(s *Stream, err error) {
	delete(c.open, s.id)
	if len(s.rest) > 0 {
		c.blocked = slices.DeleteFunc(c.blocked, func(each *Stream) bool { return each == s })
	}
	s.ended, s.err = err == nil, err
	s.notify()
	c.admitQueued()
	if c.shared != nil && len(c.open) == 0 && c.isSpent() {
		_ = c.socket.Close()
	}
}

func (c *Connection) admitQueued() {
	for len(c.queued) > 0 && len(c.open) < c.peer.streamsMax && !c.isSpent() {
		next := c.queued[0]
		c.queued = slices.Delete(c.queued, 0, 1)
		c.send(next)
	}
}

// cancel ends a call that the server may still be working on.
func (c *Connection) cancel(s *Stream, err error) {
	if c.open[s.id] == s {
		c.urgent = true
		_ = c.framer.WriteRSTStream(s.id, http2.ErrCodeCancel)
		c.end(s, err)
		return
	}
	c.queued = slices.DeleteFunc(c.queued, func(each *Stream) bool { return each == s })
	s.err = err
	s.notify()
}

// rejectQueued fails the calls that wait for a stream.
func (c *Connection) rejectQueued(err error) {
	for _, each := range c.queued {
		each.fail(err)
		each.notify()
	}
	c.queued = c.queued[:0]
}

// fail ends all calls of a connection that is of no further use.
func (c *Connection) fail(err error) {
	err = errors.Join(err, c.writeError)
	c.writeError = err
	for _, each := range c.open {
		each.fail(err)
		c.end(each, each.err)
	}
	c.rejectQueued(err)
}

// step reads on a user's own connection: all frames that have come, to the reply's end at most.
func (c *Connection) step(s *Stream) {
	header, payload, err := c.frames.read()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.isLate {
		c.isLate = false
		c.out.Reset()
	}
	if c.takeAll(s, header, payload, err) != nil {
		return
	}
	// Answers to the server's frames go out before the wait for more. Those to pings that come with the end of a
	// reply go with the next request: servers ping often, to measure the network.
	if c.frames.reader.Buffered() == 0 && !s.ended || c.urgent {
		c.flush()
	}
}

// takeAll takes a frame and those that have come whole after it; until a stream has ended, if it isn't nil. An error ends
// all calls.
func (c *Connection) takeAll(until *Stream, header http2.FrameHeader, payload []byte, err error) error {
	for err == nil {
		if err = c.take(header, payload); err != nil || !c.frames.hasNext() || until != nil && until.isOver() {
			break
		}
		header, payload, err = c.frames.read()
	}
	if err != nil {
		c.fail(err)
	}
	return err
}

// settle ends what was done under the lock: what is to be written is, or the writer is woken for it.
func (c *Connection) settle() {
	switch {
	case c.shared != nil:
		c.shared.notify(c)
	case c.frames.reader.Buffered() == 0 && c.out.Len() > 0:
		c.isLate = true
		if err := transport.Send(c.socket, c.out.Bytes()); err != nil {
			c.writeError = err
		}
	default:
		c.flush()
	}
	c.mutex.Unlock()
}

// flush writes on a user's own connection.
func (c *Connection) flush() {
	if c.urgent = false; c.out.Len() > 0 {
		if _, err := c.out.WriteTo(c.socket); err != nil {
			c.writeError = err
		}
	}
}
