// Package grpc is a client of gRPC services: unary calls and server streams over HTTP/2.
package grpc

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/h2"
)

const prefixBytes = 5

// Client is a transport.Client of gRPC.
type Client struct {
	*h2.Stream
	names   transport.Names
	timeout hpack.HeaderField
	message []byte
	reply   reply
}

var _ transport.Multiplexed = (*Client)(nil)

// New returns a client of a service at this authority (host:port). Each call sends its timeout to the server, as gRPC's
// own clients do; 0 sends none. The timeout of a stream is the longest time without an item, and no deadline: streams
// send none.
func New(authority string, overTLS bool, timeout time.Duration) *Client {
	scheme := "http"
	if overTLS {
		scheme = "https"
	}
	c := &Client{names: transport.Names{}}
	if timeout > 0 {
		c.timeout = hpack.HeaderField{Name: "grpc-timeout", Value: formatTimeout(timeout)}
	}
	c.Stream = h2.NewStream(scheme, authority, &c.reply, hpack.HeaderField{Name: "te", Value: "trailers"})
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

// Prepare encodes a request.
func (c *Client) Prepare(r *request.Request) error {
	if len(r.Body) > transport.ReplyBytesMax {
		return fmt.Errorf("a message of %d bytes is too long", len(r.Body))
	}
	if err := r.CheckHeaders("grpc"); err != nil {
		return err
	}
	c.message = append(c.message[:0], 0)
	c.message = binary.BigEndian.AppendUint32(c.message, uint32(len(r.Body)))
	c.message = append(c.message, r.Body...)
	fields := h2.Fields{Method: "POST", Path: c.names.Intern(r.Path), ContentType: "application/grpc"}
	if !r.Stream {
		fields.Own = c.timeout
	}
	head := h2.Head{Fields: fields, BodyBytes: -1, Headers: r.Headers, Varying: r.Varying}
	c.Stream.Prepare(head, c.message)
	return nil
}

// Call sends the request and reads until the stream ends.
func (c *Client) Call(item func([]byte) bool) (transport.Reply, error) {
	c.reply.begin(item)
	c.Send()
	if err := c.Receive(); err != nil {
		return transport.Reply{}, err
	}
	answer, err := c.reply.outcome()
	answer.Close = c.IsSpent()
	return answer, err
}
