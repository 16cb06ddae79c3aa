// Package h2 is a client's side of an HTTP/2 connection with one stream at a time. Frames and header compression are
// golang.org/x/net/http2's. It is RFC 9113 without what a client of one stream doesn't need: priorities and pushes.
package h2

import (
	"bufio"
	"bytes"
	"errors"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

const (
	readBufferBytes = 8 << 10
	// Then the connection is replaced: HTTP/2 has no ids beyond 2³¹ - 1.
	streamIDMax = 1 << 30
)

// Receiver takes what a stream's reply consists of.
type Receiver interface {
	// TakeField takes a field of its headers or trailers.
	TakeField(hpack.HeaderField)
	// TakeData takes a part of its body, valid until the call returns.
	TakeData([]byte) error
}

// Connection sends requests, one at a time.
type Connection struct {
	headers headers
	socket  net.Conn
	frames  frameReader

	// out is what is to be written: the client's preface at first, then frames.
	out    bytes.Buffer
	framer *http2.Framer
	// rest is the part of the request's body that the server's windows have no room for yet.
	rest []byte
	// urgent is set when the server has to hear at once.
	urgent     bool
	writeError error

	peer  peer
	reply reply
}

// New returns a connection that isn't open yet, to an authority (host:port); all its requests have these fields.
func New(scheme, authority string, receiver Receiver, fields ...hpack.HeaderField) *Connection {
	c := &Connection{
		headers: newHeaders(scheme, authority, fields),
		frames:  frameReader{reader: bufio.NewReaderSize(nil, readBufferBytes)},
		reply:   reply{receiver: receiver},
	}
	c.framer = http2.NewFramer(&c.out, nil)
	c.Close()
	return c
}

// Close forgets the socket.
func (c *Connection) Close() {
	c.socket = nil
	c.peer = newPeer()
	c.headers.reset()
	c.reply.reset()
	c.out.Reset()
}

// Open starts to use a fresh socket.
func (c *Connection) Open(socket net.Conn) {
	c.socket = socket
	c.frames.reader.Reset(socket)
}

// Prepare encodes the frames of a request; its body must stay as it is until the call is over. The client's preface
// goes with a connection's first request, so that it costs no packet of its own.
func (c *Connection) Prepare(head Head, body []byte) error {
	if c.peer.stream == 0 {
		if err := c.writePreface(); err != nil {
			return err
		}
	}
	c.peer.nextStream()
	block, err := c.headers.block(head)
	if err != nil {
		return err
	}
	err = c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: c.peer.stream, BlockFragment: block, EndHeaders: true, EndStream: len(body) == 0,
	})
	if err != nil {
		return err
	}
	c.rest = body
	return c.writeBody()
}

func (c *Connection) writePreface() error {
	c.out.Reset()
	c.out.WriteString(http2.ClientPreface)
	return errors.Join(
		c.framer.WriteSettings(
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: receiveWindowBytes},
		),
		c.framer.WriteWindowUpdate(0, receiveWindowBytes-windowBytes),
	)
}

// writeBody adds as much of the body as the server has room for.
func (c *Connection) writeBody() error {
	for len(c.rest) > 0 {
		room := min(c.peer.connectionWindow, c.peer.streamWindow, int64(c.peer.frameBytesMax), int64(len(c.rest)))
		if room <= 0 {
			return nil
		}
		part := c.rest[:room]
		c.rest = c.rest[room:]
		c.peer.connectionWindow -= room
		c.peer.streamWindow -= room
		if err := c.framer.WriteData(c.peer.stream, len(c.rest) == 0, part); err != nil {
			return err
		}
	}
	return nil
}

// Send writes what was prepared.
func (c *Connection) Send() {
	c.reply.begin()
	_, c.writeError = c.out.WriteTo(c.socket)
}

// Ended reports whether the reply has come whole.
func (c *Connection) Ended() bool { return c.reply.ended }

// Receive reads to the reply's end. Every error is a *transport.Failure, or one of the receiver's.
func (c *Connection) Receive() error {
	for !c.reply.ended {
		if err := c.Step(); err != nil {
			return err
		}
	}
	return nil
}

// Step reads one frame.
func (c *Connection) Step() error {
	header, payload, err := c.frames.read()
	if err == nil {
		err = c.take(header, payload)
	}
	if err != nil {
		return c.fail(errors.Join(err, c.writeError))
	}
	// Answers to the server's frames go out before the wait for more. Those to pings that come with the end of a
	// reply go with the next request: servers ping often, to measure the network.
	if c.out.Len() > 0 && (c.frames.reader.Buffered() == 0 && !c.reply.ended || c.urgent) {
		_, c.writeError = c.out.WriteTo(c.socket)
		c.urgent = false
	}
	return nil
}

// fail returns why the stream has not come to its end.
func (c *Connection) fail(err error) error {
	if errors.Is(err, transport.ErrStopped) {
		return transport.ErrStopped
	}
	failure := transport.FailedCall(err, c.reply.begun)
	// A server that said goodbye processes no stream above the last that it named.
	if c.peer.leaving && c.peer.stream > c.peer.lastStream {
		failure.Unprocessed = true
	}
	return failure
}

// IsSpent reports, after a call, that the connection takes no further request. A body that the server didn't want to
// read to its end would have to be cancelled.
func (c *Connection) IsSpent() bool {
	return c.peer.leaving || len(c.rest) > 0 || c.writeError != nil || c.peer.stream > streamIDMax
}
