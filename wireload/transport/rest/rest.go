// Package rest is a client of HTTP services: of HTTP/1.1, and of HTTP/2 in clear text.
package rest

import (
	"errors"
	"net/http"
	"strconv"

	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/h2"
)

// Client is a transport.Client of HTTP/1.1.
type Client struct {
	transport.Connection
	host   string
	reopen bool
	out    []byte
	reply  reply
	// length is that of the reply's body, negative if its head doesn't say it; isChunked says that the body does, and isLast
	// that the server takes no further request on the connection.
	length            int
	isChunked, isLast bool
}

// New returns a client of a service at host:port. It tells the server so if it is to `reopen` its connection.
func New(host string, reopen bool) *Client {
	return &Client{Connection: transport.NewConnection(), host: host, reopen: reopen}
}

// Prepare writes the request's lines and body.
func (c *Client) Prepare(r *request.Request) error {
	if err := r.CheckHeaders("rest"); err != nil {
		return err
	}
	out := append(c.out[:0], r.Method...)
	out = append(out, ' ')
	out = append(out, r.Path...)
	out = append(out, " HTTP/1.1\r\n"...)
	if !r.HasHeader("host") {
		out = appendHeader(out, "Host", c.host)
	}
	if !r.HasHeader("user-agent") {
		out = appendHeader(out, "User-Agent", "wireload")
	}
	if c.reopen {
		out = append(out, "Connection: close\r\n"...)
	}
	for _, headers := range [2][]request.Header{r.Headers, r.Varying} {
		for i := range headers {
			out = appendHeader(out, headers[i].Name, headers[i].Value)
		}
	}
	if hasLength(r) {
		out = strconv.AppendInt(append(out, "Content-Length: "...), int64(len(r.Body)), 10)
		out = append(out, "\r\n"...)
	}
	out = append(out, "\r\n"...)
	c.out = append(out, r.Body...)
	c.reply.expected, c.reply.end = r.Status, r.End
	return nil
}

func appendHeader[T string | []byte](out []byte, name string, value T) []byte {
	return append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
}

// hasLength reports whether a request says how long its body is.
func hasLength(r *request.Request) bool {
	return len(r.Body) > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH"
}

// Call sends the request and reads the reply to its end.
func (c *Client) Call(item func([]byte) bool) (transport.Reply, error) {
	if err := c.Send(c.out); err != nil {
		failure := transport.AsFailure(err)
		failure.Unanswered = failure.Class == transport.Closed || failure.Class == transport.Reset
		return transport.Reply{}, failure
	}
	c.reply.begin(item)
	err := c.readHead()
	for err == nil && c.reply.status < http.StatusOK && c.reply.status != http.StatusSwitchingProtocols {
		err = c.readHead() // Those of status 1xx say nothing of the request's end: RFC 9110, 15.2.
	}
	if err == nil {
		err = c.readBody()
	}
	if err != nil {
		return transport.Reply{}, errors.Join(transport.FailedCall(err, true), c.EndSending())
	}
	made, err := c.reply.outcome()
	made.Close = c.EndSending() != nil || c.isLast
	if err == nil && c.Reader.Buffered() > 0 && !made.Close { // It would be taken for the reply to the next request.
		err = transport.NewGarbage("the server sent more than its reply")
	}
	return made, err
}

// H2C is a transport.Client of HTTP/2 in clear text, with prior knowledge: RFC 9113, 3.3.
type H2C struct {
	*h2.Stream
	reply reply
}

var _ transport.Multiplexed = (*H2C)(nil)

// NewH2C returns a client of a service at host:port.
func NewH2C(host string) *H2C {
	c := &H2C{}
	c.Stream = h2.NewStream("http", host, &c.reply)
	return c
}

// Prepare takes a request.
func (c *H2C) Prepare(r *request.Request) error {
	if err := r.CheckHeaders("rest"); err != nil {
		return err
	}
	head := h2.Head{Target: r.Path, BodyBytes: -1, Headers: r.Headers, Varying: r.Varying}
	head.Method = r.Method
	if hasLength(r) {
		head.BodyBytes = len(r.Body)
	}
	c.reply.expected, c.reply.end = r.Status, r.End
	c.Stream.Prepare(head, r.Body)
	return nil
}

// Call sends the request and reads the reply to its end.
func (c *H2C) Call(item func([]byte) bool) (transport.Reply, error) {
	c.reply.begin(item)
	isLast, err := c.Exchange()
	if err != nil {
		return transport.Reply{}, err
	}
	made, err := c.reply.outcome()
	made.Close = made.Close || isLast
	return made, err
}
