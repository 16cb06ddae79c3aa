// Package grpc is a client of gRPC services: unary calls and server streams over HTTP/2.
package grpc

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/h2"
)

const (
	prefixBytes = 5
	// noStatus stands for a status that hasn't come.
	noStatus = -1
)

// Client is a transport.Client of gRPC.
type Client struct {
	*h2.Stream
	// paths has those of the methods as strings, so that requests don't allocate.
	paths   map[string]string
	timeout string
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
	c := &Client{paths: map[string]string{}}
	if timeout > 0 {
		// Eight digits at most, and milliseconds.
		c.timeout = strconv.FormatInt(min(max(timeout.Milliseconds(), 1), 99_999_999), 10) + "m"
	}
	c.Stream = h2.NewStream(scheme, authority, &c.reply)
	return c
}

// Prepare encodes a request.
func (c *Client) Prepare(r *request.Request) error {
	if len(r.Body) > transport.ReplyBytesMax {
		return fmt.Errorf("a message of %d bytes is too long", len(r.Body))
	}
	if err := r.CheckHeaders("grpc"); err != nil {
		return err
	}
	path, isKnown := c.paths[string(r.Path)]
	if !isKnown {
		path = string(r.Path)
		c.paths[path] = path
	}
	head := h2.Head{BodyBytes: -1, Headers: r.Headers, Varying: r.Varying}
	head.Method, head.Path, head.ContentType, head.TE = "POST", path, "application/grpc", "trailers"
	if !r.Stream {
		head.Timeout = c.timeout
	}
	c.message = append(c.message[:0], 0)
	c.message = binary.BigEndian.AppendUint32(c.message, uint32(len(r.Body)))
	c.message = append(c.message, r.Body...)
	c.Stream.Prepare(head, c.message)
	return nil
}

// Call sends the request and reads until the stream ends.
func (c *Client) Call(item func([]byte) bool) (transport.Reply, error) {
	c.reply = reply{item: item, httpStatus: noStatus, grpcStatus: noStatus, data: c.reply.data[:0]}
	isLast, err := c.Exchange()
	if err != nil {
		return transport.Reply{}, err
	}
	answer, err := c.reply.outcome()
	answer.Close = isLast
	return answer, err
}

// reply is what has come of a stream's reply.
type reply struct {
	item                   func([]byte) bool
	httpStatus, grpcStatus int
	text                   string
	// data is what came of messages; from `parsed` on no whole one is there.
	data     []byte
	parsed   int
	messages int
	// message is the place of the last one in data.
	message []byte
}

// TakeField takes a field of the headers or trailers.
func (r *reply) TakeField(field hpack.HeaderField) {
	switch field.Name {
	case ":status":
		r.httpStatus = numberIn(field.Value)
	case "grpc-status":
		r.grpcStatus = numberIn(field.Value)
	case "grpc-message":
		r.text = field.Value
	}
}

func numberIn(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil {
		return noStatus
	}
	return number
}

// TakeData takes messages, each a byte that says whether it is compressed, a length of four, and as many bytes.
func (r *reply) TakeData(payload []byte) error {
	if len(r.data)+len(payload) > transport.ReplyBytesMax {
		return transport.NewGarbage("the reply is longer than %d bytes", transport.ReplyBytesMax)
	}
	r.data = append(r.data, payload...)
	for len(r.data)-r.parsed >= prefixBytes {
		head := r.data[r.parsed:]
		length := int(binary.BigEndian.Uint32(head[1:]))
		if head[0] != 0 {
			return transport.NewGarbage("the reply is compressed, which it was not asked to be")
		}
		if length > transport.ReplyBytesMax {
			return transport.NewGarbage("the reply is a message of %d bytes", length)
		}
		if len(head)-prefixBytes < length {
			break
		}
		r.message = head[prefixBytes : prefixBytes+length]
		r.parsed += prefixBytes + length
		r.messages++
		if r.item != nil && !r.item(r.message) {
			return transport.ErrStopped
		}
	}
	if r.item != nil {
		r.data, r.parsed = append(r.data[:0], r.data[r.parsed:]...), 0
	}
	return nil
}

// outcome returns what a stream that has ended came to.
func (r *reply) outcome() (transport.Reply, error) {
	switch {
	case r.grpcStatus == noStatus && r.httpStatus != noStatus && r.httpStatus/100 != 2:
		text := "HTTP status " + strconv.Itoa(r.httpStatus)
		return transport.Reply{Code: histogram.CodeOfHTTP(r.httpStatus), Message: text}, nil
	case r.grpcStatus == noStatus:
		return transport.Reply{}, transport.NewGarbage("the reply has no grpc-status")
	case r.grpcStatus == 0 && len(r.data) > r.parsed:
		return transport.Reply{}, &transport.Failure{Class: transport.CutShort, Message: "the reply ends within a message"}
	case r.grpcStatus == 0 && r.item == nil && r.messages != 1:
		return transport.Reply{}, transport.NewGarbage("the reply has %d messages and not one", r.messages)
	}
	answer := transport.Reply{Code: histogram.CodeOfGRPC(r.grpcStatus), Body: r.message}
	if answer.Code == histogram.OK {
		return answer, nil
	}
	answer.Message = r.text
	if plain, err := url.PathUnescape(r.text); err == nil {
		answer.Message = plain
	}
	if name, ok := otherCodes[r.grpcStatus]; ok {
		answer.Message = name + ": " + answer.Message
	}
	return answer, nil
}

// otherCodes are gRPC's status codes that count as unknown.
var otherCodes = map[int]string{
	7: "PERMISSION_DENIED", 9: "FAILED_PRECONDITION", 10: "ABORTED", 11: "OUT_OF_RANGE", 15: "DATA_LOSS", 16: "UNAUTHENTICATED",
}
