// Package grpc is a client of gRPC services: unary calls and server streams over HTTP/2, one at a time on a
// connection. Frames and header compression are golang.org/x/net/http2's.
package grpc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

const (
	readBufferBytes = 8 << 10
	prefixBytes     = 5
	// Then the connection is replaced: HTTP/2 has no ids beyond 2³¹ - 1.
	streamIDMax = 1 << 30
)

// Client is a transport.Client of gRPC.
type Client struct {
	headers    headers
	connection net.Conn
	frames     frameReader

	// out is what is to be written: the client's preface at first, then frames.
	out    bytes.Buffer
	framer *http2.Framer
	// rest is the part of the request's message that the server's windows have no room for yet.
	rest    []byte
	message []byte
	// urgent is set when the server has to hear at once.
	urgent bool

	peer  peer
	reply reply
}

var _ transport.Client = (*Client)(nil)

// New returns a client of a service at this authority (host:port). Servers are told the timeout, as gRPC's clients do;
// 0 is none.
func New(authority string, overTLS bool, timeout time.Duration) *Client {
	scheme := "http"
	if overTLS {
		scheme = "https"
	}
	c := &Client{
		headers: newHeaders(scheme, authority),
		frames:  frameReader{reader: bufio.NewReaderSize(nil, readBufferBytes)},
	}
	if timeout > 0 {
		c.headers.fields = append(c.headers.fields, hpack.HeaderField{Name: "grpc-timeout", Value: formatTimeout(timeout)})
	}
	c.framer = http2.NewFramer(&c.out, nil)
	c.Close()
	return c
}

// formatTimeout writes a timeout as gRPC does: eight digits at most.
func formatTimeout(timeout time.Duration) string {
	const digitsMax = 99_999_999
	if timeout <= digitsMax*time.Microsecond {
		return strconv.FormatInt(timeout.Microseconds(), 10) + "u"
	}
	return strconv.FormatInt(min(timeout.Milliseconds(), digitsMax), 10) + "m"
}

// Close forgets the connection.
func (c *Client) Close() {
	c.connection = nil
	c.peer = newPeer()
	c.headers.reset()
	c.reply.reset()
	c.out.Reset()
}

// Open starts to use a fresh connection.
func (c *Client) Open(connection net.Conn) {
	c.connection = connection
	c.frames.reader.Reset(connection)
}

// Prepare encodes the frames of a request. The client's preface goes with a connection's first, so that it costs no
// packet of its own.
func (c *Client) Prepare(r *request.Request) error {
	if len(r.Body) > transport.ReplyBytesMax {
		return fmt.Errorf("a message of %d bytes is too long", len(r.Body))
	}
	if c.peer.stream == 0 {
		if err := c.writePreface(); err != nil {
			return err
		}
	}
	c.peer.nextStream()
	block, err := c.headers.block(r.Path)
	if err != nil {
		return err
	}
	headers := http2.HeadersFrameParam{StreamID: c.peer.stream, BlockFragment: block, EndHeaders: true}
	if err := c.framer.WriteHeaders(headers); err != nil {
		return err
	}
	c.message = append(c.message[:0], 0)
	c.message = binary.BigEndian.AppendUint32(c.message, uint32(len(r.Body)))
	c.message = append(c.message, r.Body...)
	c.rest = c.message
	return c.writeMessage()
}

func (c *Client) writePreface() error {
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

// writeMessage adds as much of the message as the server has room for.
func (c *Client) writeMessage() error {
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

// Call sends the request and reads until the stream ends.
func (c *Client) Call(item func([]byte) bool) (transport.Reply, error) {
	c.reply.begin(item)
	_, writeError := c.out.WriteTo(c.connection)
	for !c.reply.ended {
		header, payload, err := c.frames.read()
		if err == nil {
			err = c.take(header, payload)
		}
		if err != nil {
			return transport.Reply{}, c.fail(errors.Join(err, writeError))
		}
		// Answers to the server's frames go out before the wait for more. Those to pings that come with the end of a
		// reply go with the next request: servers ping often, to measure the network.
		if c.out.Len() > 0 && (c.frames.reader.Buffered() == 0 && !c.reply.ended || c.urgent) {
			_, writeError = c.out.WriteTo(c.connection)
			c.urgent = false
		}
	}
	return c.answer(writeError)
}

// fail returns why the stream has not come to its end.
func (c *Client) fail(err error) error {
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

func (c *Client) answer(writeError error) (transport.Reply, error) {
	answer, err := c.reply.outcome()
	// A message that the server didn't want to read to its end would have to be cancelled: the connection is of no use.
	answer.Close = c.peer.leaving || len(c.rest) > 0 || writeError != nil || c.peer.stream > streamIDMax
	return answer, err
}
