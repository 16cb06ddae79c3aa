// Package socket has clients of our socket protocol, which proto/socket.md describes byte by byte, and of services that
// answer lines.
package socket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"unicode/utf8"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

const (
	// The prefaces that a client opens a connection with; they settle the encoding of all its bodies.
	prefaceJSON     = "WB1J"
	prefaceProtobuf = "WB1P"

	// lineBytesMax is the longest line of a reply, with its end.
	lineBytesMax = 1 << 20

	prefaceBytes      = 4
	lengthBytes       = 4
	requestFixedBytes = 4 + 1
	replyFixedBytes   = 4 + 1 + 2
)

// Client is a transport.Client of the socket protocol, and of services that answer each line with a line.
type Client struct {
	transport.Connection
	// id is that of the last request; no id is used twice on a connection.
	id uint32
	// out is a frame or a line behind the connection's preface.
	out    []byte
	isLine bool
	in     transport.Buffer
}

// New returns a client; all bodies are either protobuf or JSON.
func New(protobuf bool) *Client {
	preface := prefaceJSON
	if protobuf {
		preface = prefaceProtobuf
	}
	return &Client{Connection: transport.NewConnection(), out: []byte(preface)}
}

// Open starts to use a fresh connection.
func (c *Client) Open(connection net.Conn) {
	c.Connection.Open(connection)
	c.id = 0
}

// Prepare encodes a frame, but for its id, or ends a line.
func (c *Client) Prepare(r *request.Request) error {
	if c.isLine = len(r.Path) == 0; c.isLine {
		if bytes.ContainsAny(r.Body, "\r\n") {
			return errors.New("a line can't have a line break")
		}
		c.out = append(append(c.out[:prefaceBytes], r.Body...), '\n')
		return nil
	}
	length := requestFixedBytes + len(r.Path) + len(r.Body)
	switch {
	case len(r.Path) > math.MaxUint8:
		return fmt.Errorf("%s: a method must have 1 to %d bytes", r.Operation, math.MaxUint8)
	case length > transport.ReplyBytesMax:
		return fmt.Errorf("%s: a frame of %d bytes is too long", r.Operation, length)
	}
	c.out = binary.BigEndian.AppendUint32(c.out[:prefaceBytes], uint32(length))
	c.out = append(c.out, 0, 0, 0, 0, uint8(len(r.Path)))
	c.out = append(c.out, r.Path...)
	c.out = append(c.out, r.Body...)
	return nil
}

// Call sends the frame or line, and reads its reply; neither protocol has streams.
func (c *Client) Call(func([]byte) bool) (reply transport.Reply, err error) {
	out := c.out
	if c.isLine || c.id > 0 { // The preface goes with a connection's first frame, so that it costs no packet of its own.
		out = out[prefaceBytes:]
	}
	if !c.isLine {
		c.id++
		binary.BigEndian.PutUint32(c.out[prefaceBytes+lengthBytes:], c.id)
	}
	if err := c.Send(out); err != nil {
		return reply, err
	}
	if c.isLine {
		reply.Code = histogram.OK
		reply.Body, err = c.ReadLine(lineBytesMax)
	} else {
		reply, err = c.read()
	}
	unsent := c.EndSending()
	reply.Close = reply.Close || unsent != nil
	switch {
	case err != nil:
		return reply, errors.Join(transport.FailedCall(err, true), unsent)
	case c.isLine && c.Reader.Buffered() > 0: // It would be taken for the reply to the next line.
		return reply, transport.NewGarbage("the service sent more than one line")
	}
	return reply, nil
}

func (c *Client) read() (reply transport.Reply, err error) {
	head, err := c.Reader.Peek(lengthBytes)
	if err != nil {
		return reply, err
	}
	length := binary.BigEndian.Uint32(head)
	if length > transport.ReplyBytesMax {
		return reply, transport.NewGarbage("the reply is not of the socket protocol: a frame is longer than its limit")
	}
	_, _ = c.Reader.Discard(lengthBytes)
	for c.in = c.in[:0]; len(c.in) < int(length); {
		if _, err := c.in.Read(c.Reader, int(length)-len(c.in)); err != nil {
			return reply, err
		}
	}
	payload := c.in
	if len(payload) < replyFixedBytes {
		return reply, transport.NewGarbage("the reply is not of the socket protocol: a frame is shorter than its fields")
	}
	id, status := binary.BigEndian.Uint32(payload), payload[4]
	message := payload[replyFixedBytes:]
	textBytes := int(binary.BigEndian.Uint16(payload[5:]))
	switch {
	case len(message) < textBytes:
		return reply, transport.NewGarbage("the reply is not of the socket protocol: a frame is shorter than its fields")
	case !utf8.Valid(message[:textBytes]):
		return reply, transport.NewGarbage("the reply is not of the socket protocol: a message is not UTF-8")
	case id != c.id && id != 0: // Id 0 is of a server that couldn't read the request's.
		return reply, transport.NewGarbage("the server answered a request that is not open")
	}
	reply = transport.Reply{
		Code: histogram.CodeOfGRPC(int(status)), Message: string(message[:textBytes]), Body: message[textBytes:],
	}
	// After RESOURCE_EXHAUSTED, and where it couldn't read an id, the server closes by itself.
	reply.Close = reply.Code == histogram.ResourceExhausted || id == 0
	return reply, nil
}
