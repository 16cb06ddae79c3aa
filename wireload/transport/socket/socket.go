// Package socket has clients of our socket protocol (proto/socket.md), and of services that answer lines.
package socket

import (
	"bufio"
	"errors"
	"io"
	"net"

	"wirebench.dev/wireload/frame"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

const readBufferBytes = 8 << 10

// Client is a transport.Client of the socket protocol.
type Client struct {
	preface    string
	connection net.Conn
	reader     *bufio.Reader
	names      transport.Names
	// id is that of the last request; no id is used twice on a connection.
	id  uint32
	out []byte
	in  []byte
}

var _ transport.Client = (*Client)(nil)

// New returns a client; all bodies are either protobuf or JSON.
func New(protobuf bool) *Client {
	made := &Client{preface: frame.PrefaceJSON, reader: bufio.NewReaderSize(nil, readBufferBytes), names: transport.Names{}}
	if protobuf {
		made.preface = frame.PrefaceProtobuf
	}
	return made
}

// Prepare encodes a frame. The preface goes with a connection's first, so that it costs no packet of its own.
func (c *Client) Prepare(r *request.Request) error {
	c.out = c.out[:0]
	if c.id == 0 {
		c.out = append(c.out, c.preface...)
	}
	c.id++
	var err error
	c.out, err = frame.AppendRequest(c.out, frame.Request{ID: c.id, Method: c.names.Intern(r.Path), Body: r.Body})
	return err
}

// Open starts to use a fresh connection.
func (c *Client) Open(connection net.Conn) {
	c.connection = connection
	c.reader.Reset(connection)
}

// Close forgets the connection.
func (c *Client) Close() { c.connection, c.id = nil, 0 }

// Call sends the frame and reads its reply, or the items of a stream to their end mark.
func (c *Client) Call(item func([]byte) bool) (transport.Reply, error) {
	writeError := transport.Send(c.connection, c.out)
	if _, err := c.reader.Peek(1); err != nil {
		return transport.Reply{}, transport.FailedCall(errors.Join(err, writeError), false)
	}
	for {
		reply, err := c.read()
		switch {
		case err != nil:
			return transport.Reply{}, transport.FailedCall(err, true)
		case !reply.More():
			return answer(reply), nil
		case item == nil:
			return transport.Reply{}, transport.NewGarbage("the server answered with a stream")
		case !item(reply.Body):
			return transport.Reply{}, transport.ErrStopped
		}
	}
}

func (c *Client) read() (frame.Reply, error) {
	payload, err := frame.ReadPayload(c.reader, c.in)
	if err != nil {
		return frame.Reply{}, wrongFrame(err)
	}
	c.in = payload
	reply, err := frame.ParseReply(payload)
	if err != nil {
		return frame.Reply{}, wrongFrame(err)
	}
	// Id 0 is of a server that couldn't read the request's.
	if reply.ID != c.id && reply.ID != 0 {
		return frame.Reply{}, transport.NewGarbage("the server answered a request that is not open")
	}
	return reply, nil
}

// wrongFrame leaves errors of the connection as they are.
func wrongFrame(err error) error {
	for _, each := range []error{frame.ErrTooShort, frame.ErrTooLong, frame.ErrMessageText, frame.ErrReservedFlags} {
		if errors.Is(err, each) {
			return transport.NewGarbage("the reply is not of the socket protocol: %s", err)
		}
	}
	if errors.Is(err, io.EOF) { // A stream's end mark is missing.
		return io.ErrUnexpectedEOF
	}
	return err
}

func answer(reply frame.Reply) transport.Reply {
	code := histogram.CodeOfGRPC(int(reply.Status))
	// After RESOURCE_EXHAUSTED, and where it couldn't read an id, the server closes by itself.
	last := code == histogram.ResourceExhausted || reply.ID == 0
	return transport.Reply{Code: code, Message: reply.Message, Body: reply.Body, Close: last}
}
