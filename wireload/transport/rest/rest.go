// Package rest is a client of HTTP services: of HTTP/1.1, whose replies are read by fasthttp's parser, and of HTTP/2 in
// clear text.
package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"

	"github.com/valyala/fasthttp"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// chunked is fasthttp's length of a body in chunks.
const chunked = -1

// Client is a transport.Client of HTTP/1.1.
type Client struct {
	transport.Connection
	host     string
	reopen   bool
	out      []byte
	response fasthttp.Response
	bytesMax int
	reply    reply
	// part is a part of a stream's body.
	part []byte
}

// New returns a client of a service at host:port. It tells the server so if it is to `reopen` its connection.
func New(host string, reopen bool) *Client {
	made := &Client{
		Connection: transport.NewConnection(), host: host, reopen: reopen, bytesMax: transport.ReplyBytesMax,
		part: make([]byte, transport.ReadBufferBytes),
	}
	made.response.Header.SetNoDefaultContentType(true)
	return made
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
	out = appendDefault(out, r, "host", "Host", c.host)
	out = appendDefault(out, r, "user-agent", "User-Agent", "wireload")
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
	c.response.SkipBody = r.Method == "HEAD" || r.Stream
	c.reply.expected, c.reply.end = r.Status, r.End
	return nil
}

// appendDefault adds a header unless the request brings it itself.
func appendDefault(out []byte, r *request.Request, key, name, value string) []byte {
	if r.HasHeader(key) {
		return out
	}
	return appendHeader(out, name, value)
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
		return transport.Reply{}, err
	}
	if err := c.readFinal(); err != nil {
		return transport.Reply{}, failRead(err)
	}
	c.reply.begin(item)
	c.reply.status = c.response.StatusCode()
	if item == nil {
		c.reply.body = c.response.Body()
		c.reply.isGzipped = string(c.response.Header.ContentEncoding()) == "gzip"
	} else if err := c.readStream(); err != nil {
		return transport.Reply{}, err
	}
	made, err := c.reply.outcome()
	made.Close = c.response.ConnectionClose()
	if err == nil && c.Reader.Buffered() > 0 && !made.Close { // It would be taken for the reply to the next request.
		err = transport.NewGarbage("the server sent more than its reply")
	}
	return made, err
}

// readFinal reads a reply; those of status 1xx before it say nothing of the request's end (RFC 9110, 15.2).
func (c *Client) readFinal() error {
	for {
		err := c.response.ReadLimitBody(c.Reader, c.bytesMax)
		if status := c.response.StatusCode(); err != nil || status >= 200 || status == fasthttp.StatusSwitchingProtocols {
			return err
		}
	}
}

// readStream hands the body of a stream's reply on as it comes.
func (c *Client) readStream() error {
	header := &c.response.Header
	c.reply.contentType = string(header.ContentType())
	var body io.Reader = c.Reader
	length := int64(header.ContentLength())
	switch {
	case c.reply.status == http.StatusNoContent || c.reply.status == http.StatusNotModified:
		return nil
	case length == chunked:
		body = httputil.NewChunkedReader(c.Reader)
	case length >= 0:
		body = io.LimitReader(c.Reader, length)
	}
	count, err := io.CopyBuffer(&c.reply, body, c.part)
	switch {
	case err == nil && count < length:
		err = io.ErrUnexpectedEOF
	case err == nil && length == chunked:
		err = header.ReadTrailer(c.Reader)
	}
	return failRead(err)
}

// failRead returns why a reply that has begun can't be read. fasthttp would quote the header.
func failRead(err error) error {
	var small *fasthttp.ErrSmallBuffer
	switch {
	case err == nil || errors.Is(err, transport.ErrStopped):
		return err
	case errors.As(err, &small):
		return transport.NewGarbage("the reply's header is longer than %d bytes", transport.ReadBufferBytes)
	}
	return transport.FailedCall(err, true)
}
