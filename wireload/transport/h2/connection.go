// Package h2 is a client's side of HTTP/2 connections: RFC 9113 without what a load doesn't need, priorities and pushes.
// golang.org/x/net/http2 writes its frames; it would allocate memory for each frame that it reads.
package h2

import (
	"bufio"
	"bytes"
	"errors"
	"maps"
	"math"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

const (
	// What each side may send in a frame unless the other allows more, and what a window is at first: RFC 9113, 6.5.2.
	frameBytesMax = 16 << 10
	windowBytes   = 65_535
	// Windows for replies: flow control is TCP's, because replies are read as they come.
	receiveWindowBytes = 1 << 30
	// A frame always fits into the buffer.
	readBufferBytes       = headerBytes + frameBytesMax
	sharedReadBufferBytes = 64 << 10
	// What may wait to be written: a server that reads nothing could have answers to its frames take all memory.
	outBytesMax = 64 << 20
	// Then the connection is replaced: HTTP/2 has no ids beyond 2³¹ - 1.
	streamIDMax = 1 << 30
)

var errLeaving = &transport.Failure{Class: transport.Closed, Message: "the server is leaving", Unprocessed: true}

// Connection has the streams of one user, one after the other, or of all who share it. A user reads its own connection by
// itself; one that is shared has a goroutine that reads.
type Connection struct {
	socket   net.Conn
	reader   *bufio.Reader
	isShared bool

	// mutex guards the rest.
	mutex   sync.Mutex
	headers *headers
	decoder *hpack.Decoder
	framer  *http2.Framer
	// out is what is to be written, the client's preface first; sent is what came before it.
	out, sent bytes.Buffer
	// pings counts the answers to pings in `out`: alone, they wait for the next request.
	pings int
	// write is a goroutine of a shared connection, which isWriting. It's kept here so that none is allocated for a request.
	write     func()
	isWriting bool
	// isLeaving is set by GOAWAY, and goodbye is its reason if it isn't an ordinary one; err is why nothing can be written,
	// or read.
	isLeaving bool
	goodbye   string
	err       error

	// window is the server's room for bodies; initialWindow is that of a fresh stream.
	window, initialWindow int64
	// streamsMax is how many streams may be open at once. On a shared connection it's negative before the server's first
	// settings, and none may, as gRPC's own clients have it: the server would reject those that are too many.
	streamsMax int
	// nextID is that of the next stream; open has those that are under way.
	nextID uint32
	open   map[uint32]*Stream
	// queued wait for the server to take one more stream, and blocked for room for the rest of their bodies.
	queued, blocked []*Stream
	// continued is the stream whose headers are coming, and endsStream says that nothing follows them.
	continued  uint32
	endsStream bool
	// unreported is what came of replies since the server last heard of room for more.
	unreported uint32
}

// newConnection returns one with a fresh socket. The client's preface goes with the first request, so that it costs no
// packet of its own.
func newConnection(of *Stream, socket net.Conn, bufferBytes int) *Connection {
	c := &Connection{
		socket: socket, reader: bufio.NewReaderSize(socket, bufferBytes),
		headers: newHeaders(of.scheme, of.authority), decoder: hpack.NewDecoder(headerTableBytes, nil),
		window: windowBytes, initialWindow: windowBytes, streamsMax: math.MaxInt,
		nextID: 1, open: map[uint32]*Stream{},
	}
	c.write = c.writeShared
	c.decoder.SetMaxStringLength(transport.HeaderBytesMax)
	c.framer = http2.NewFramer(&c.out, nil)
	c.out.WriteString(http2.ClientPreface)
	// A bytes.Buffer takes everything, so that errors of the framer would be mistakes of ours.
	_ = c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindowBytes},
	)
	_ = c.framer.WriteWindowUpdate(0, receiveWindowBytes-windowBytes)
	return c
}

// IsSpent reports whether the connection takes no further request.
func (c *Connection) IsSpent() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.isSpent()
}

func (c *Connection) isSpent() bool { return c.isLeaving || c.err != nil || c.nextID > streamIDMax }

func (c *Connection) send(s *Stream) {
	s.id, s.window = c.nextID, c.initialWindow
	c.nextID += 2
	c.open[s.id] = s
	block := c.headers.block(s.head)
	first := block[:min(len(block), frameBytesMax)]
	_ = c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s.id, BlockFragment: first, EndHeaders: len(first) == len(block), EndStream: len(s.rest) == 0,
	})
	for block = block[len(first):]; len(block) > 0; block = block[len(first):] {
		first = block[:min(len(block), frameBytesMax)]
		_ = c.framer.WriteContinuation(s.id, len(first) == len(block), first)
	}
	c.writeBody(s)
}

// writeBody adds as much of a body as the server has room for.
func (c *Connection) writeBody(s *Stream) {
	for len(s.rest) > 0 {
		room := min(c.window, s.window, frameBytesMax, int64(len(s.rest)))
		if room <= 0 {
			c.blocked = append(c.blocked, s)
			return
		}
		part := s.rest[:room]
		s.rest = s.rest[room:]
		c.window -= room
		s.window -= room
		_ = c.framer.WriteData(s.id, len(s.rest) == 0, part)
	}
}

// writeBlocked continues bodies when there may be room for more of them.
func (c *Connection) writeBlocked() {
	waiting := c.blocked
	c.blocked = c.blocked[:0] // Those that still wait take no place before their own.
	for _, each := range waiting {
		c.writeBody(each)
	}
}

// flush has requests sent: by the next read of a user's own connection, and by a goroutine on a shared one, which must be
// read even while the server takes nothing more.
func (c *Connection) flush() {
	switch {
	case c.out.Len() == 0 || c.isWriting || c.err != nil:
	case c.isShared:
		c.isWriting = true
		go c.write()
	default:
		c.swap()
		c.err = transport.Send(c.socket, c.sent.Bytes())
	}
}

// swap makes room for what is to be written after this.
func (c *Connection) swap() {
	c.out, c.sent = c.sent, c.out
	c.out.Reset()
	c.pings = 0
}

// writeShared writes until there is nothing more.
func (c *Connection) writeShared() {
	runtime.Gosched() // Others are about to send as well: one write for all of them.
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.out.Len() > 0 && c.err == nil {
		c.swap()
		c.mutex.Unlock()
		_, err := c.socket.Write(c.sent.Bytes())
		c.mutex.Lock()
		c.err = errors.Join(c.err, err)
	}
	c.isWriting = false
}

// readShared reads until the connection is of no further use.
func (c *Connection) readShared() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for !c.isSpent() || len(c.open)+len(c.queued) > 0 {
		c.read()
		c.flush()
	}
	_ = c.socket.Close()
}

// read waits for frames, unlocked, and takes all that have come whole.
func (c *Connection) read() {
	c.mutex.Unlock()
	header, payload, err := c.readFrame()
	c.mutex.Lock()
	for ; err == nil; header, payload, err = c.readFrame() {
		if err = c.take(header, payload); err != nil || !c.hasFrame() {
			break
		}
	}
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		c.err = errors.Join(err, c.err)
		for _, each := range c.calls() {
			c.end(each, each.failure(c.err))
		}
	}
}

// calls returns the streams that are under way, or queued.
func (c *Connection) calls() []*Stream {
	return slices.AppendSeq(slices.Clone(c.queued), maps.Values(c.open))
}

// expire fails a call on a shared connection whose time is over.
func (c *Connection) expire(s *Stream) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if slices.Contains(c.calls(), s) && int64(time.Since(epoch)) >= s.deadline.Load() {
		c.cancel(s, s.failure(os.ErrDeadlineExceeded))
		c.flush()
	}
}

// cancel ends a call that the server may still be working on.
func (c *Connection) cancel(s *Stream, err error) {
	if s.id > 0 {
		_ = c.framer.WriteRSTStream(s.id, http2.ErrCodeCancel)
	}
	c.end(s, err)
}

// end takes a stream off the connection whose reply has come whole, or which has failed, and sends those that waited for it.
func (c *Connection) end(s *Stream, err error) {
	isEnded := func(each *Stream) bool { return each == s }
	delete(c.open, s.id)
	if s.id == 0 {
		c.queued = slices.DeleteFunc(c.queued, isEnded)
	} else if len(s.rest) > 0 {
		c.blocked = slices.DeleteFunc(c.blocked, isEnded)
	}
	s.ended, s.err = err == nil, err
	select {
	case s.wake <- struct{}{}:
	default: // It reads by itself.
	}
	c.sendQueued()
}

func (c *Connection) sendQueued() {
	for len(c.queued) > 0 && len(c.open) < c.streamsMax && !c.isSpent() {
		next := c.queued[0]
		c.queued = slices.Delete(c.queued, 0, 1)
		c.send(next)
	}
}
