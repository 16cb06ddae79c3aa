// Package grpc is a client of gRPC services: unary calls and server streams over HTTP/2.
package grpc

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/genproto/googleapis/rpc/code"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/h2"
)

// prefixBytes is what comes before a message: a byte that says whether it is compressed, and its length.
const prefixBytes = 5

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
	c := &Client{paths: map[string]string{}}
	if timeout > 0 {
		// Eight digits at most, and milliseconds.
		c.timeout = strconv.FormatInt(min(max(timeout.Milliseconds(), 1), 99_999_999), 10) + "m"
	}
	c.Stream = h2.NewStream(map[bool]string{false: "http", true: "https"}[overTLS], authority, &c.reply)
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
	c.reply = reply{item: item, data: c.reply.data[:0]}
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
	item                      func([]byte) bool
	httpStatus                int
	contentType, status, text string
	// data is what came of messages; from `parsed` on no whole one is there.
	data     transport.Buffer
	parsed   int
	messages int
	// message is the place of the last one in data.
	message []byte
}

// TakeField takes a field of the headers or trailers.
func (r *reply) TakeField(field hpack.HeaderField) {
	switch field.Name {
	case ":status":
		r.httpStatus, _ = strconv.Atoi(field.Value)
	case "grpc-status":
		r.status = field.Value
	case "grpc-message":
		r.text = field.Value
	case "content-type":
		r.contentType = field.Value
	}
}

// TakeData takes messages. What isn't gRPC is left out: the status explains it.
func (r *reply) TakeData(payload []byte) error {
	if r.httpStatus != http.StatusOK || r.contentType != "" && !strings.HasPrefix(r.contentType, "application/grpc") {
		return nil
	}
	if err := r.data.Append(payload); err != nil {
		return err
	}
	for len(r.data)-r.parsed >= prefixBytes {
		head := r.data[r.parsed:]
		length := int(binary.BigEndian.Uint32(head[1:]))
		if head[0] != 0 {
			return transport.NewGarbage("the reply is compressed, which it was not asked to be")
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
	status, err := strconv.Atoi(r.status)
	switch {
	case err != nil && r.httpStatus != 0 && r.httpStatus/100 != 2:
		text := "HTTP status " + strconv.Itoa(r.httpStatus)
		return transport.Reply{Code: histogram.CodeOfHTTP(r.httpStatus), Message: text}, nil
	case err != nil:
		return transport.Reply{}, transport.NewGarbage("the reply has no grpc-status: its content-type is %q", r.contentType)
	case status == 0 && len(r.data) > r.parsed:
		return transport.Reply{}, &transport.Failure{Class: transport.CutShort, Message: "the reply ends within a message"}
	case status == 0 && r.item == nil && r.messages != 1:
		return transport.Reply{}, transport.NewGarbage("the reply has %d messages and not one", r.messages)
	}
	answer := transport.Reply{Code: histogram.CodeOfGRPC(status), Body: r.message}
	if answer.Code == histogram.OK {
		return answer, nil
	}
	answer.Message = r.text
	if plain, err := url.PathUnescape(r.text); err == nil {
		answer.Message = plain
	}
	if name := code.Code(status); answer.Code == histogram.Unknown && name != code.Code_UNKNOWN {
		answer.Message = name.String() + ": " + answer.Message
	}
	return answer, nil
}
