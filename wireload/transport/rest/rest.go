// Package rest is a client of HTTP services: of HTTP/1.1, whose replies are read by fasthttp's parser, and of HTTP/2 in
// clear text.
package rest

import (
	"bufio"
	"errors"
	"net"
	"strconv"

	"github.com/valyala/fasthttp"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// A reply's header has to fit into the buffer.
const readBufferBytes = 8 << 10

const gzipEncoding = "gzip"

// Client is a transport.Client of HTTP/1.1.
type Client struct {
	host       string
	reopen     bool
	connection net.Conn
	reader     *bufio.Reader
	response   fasthttp.Response
	out        []byte
	bytesMax   int
	stream     streamReader
	// expected is the status of a correct reply; 0 is any that says success.
	expected int
}

var _ transport.Client = (*Client)(nil)

// New returns a client of a service at host:port. It tells the server so if it is to `reopen` its connection.
func New(host string, reopen bool) *Client {
	made := &Client{host: host, reopen: reopen, reader: bufio.NewReaderSize(nil, readBufferBytes), bytesMax: transport.ReplyBytesMax}
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
	if r.Accept != "" {
		out = appendDefault(out, r, "accept", "Accept", r.Accept)
	}
	if len(r.Body) > 0 && r.ContentType != "" {
		out = appendDefault(out, r, "content-type", "Content-Type", r.ContentType)
	}
	for _, headers := range [2][]request.Header{r.Headers, r.Varying} {
		for i := range headers {
			out = appendHeader(out, headers[i].Name, headers[i].Value)
		}
	}
	if len(r.Body) > 0 || hasBody(r.Method) {
		out = strconv.AppendInt(append(out, "Content-Length: "...), int64(len(r.Body)), 10)
		out = append(out, "\r\n"...)
	}
	out = append(out, "\r\n"...)
	c.out = append(out, r.Body...)
	c.response.SkipBody = r.Method == "HEAD" || r.Stream
	c.expected, c.stream.end = r.Status, r.End
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

func hasBody(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }

// Open starts to use a fresh connection.
func (c *Client) Open(connection net.Conn) {
	c.connection = connection
	c.reader.Reset(connection)
}

// Close forgets the connection.
func (c *Client) Close() { c.connection = nil }

// Call sends the request and reads the reply to its end.
func (c *Client) Call(item func([]byte) bool) (transport.Reply, error) {
	writeError := transport.Send(c.connection, c.out)
	if _, err := c.reader.Peek(1); err != nil {
		return transport.Reply{}, transport.FailedCall(errors.Join(err, writeError), false)
	}
	if err := c.readFinal(); err != nil {
		return transport.Reply{}, failRead(err)
	}
	reply := c.answer()
	if item != nil {
		var err error
		if reply, err = c.readStream(item); err != nil {
			return reply, err
		}
	}
	if c.reader.Buffered() > 0 && !reply.Close { // It would be taken for the reply to the next request.
		return transport.Reply{}, transport.NewGarbage("the server sent more than its reply")
	}
	reply.Close = reply.Close || c.response.ConnectionClose() || writeError != nil
	return reply, nil
}

// readFinal reads a reply; those of status 1xx before it say nothing of the request's end (RFC 9110, 15.2).
func (c *Client) readFinal() error {
	for {
		err := c.response.ReadLimitBody(c.reader, c.bytesMax)
		if status := c.response.StatusCode(); err != nil || status >= 200 || status == fasthttp.StatusSwitchingProtocols {
			return err
		}
	}
}

// failRead returns why a reply that has begun can't be read. fasthttp would quote the header.
func failRead(err error) error {
	var small *fasthttp.ErrSmallBuffer
	if errors.As(err, &small) {
		return transport.NewGarbage("the reply's header is longer than %d bytes", readBufferBytes)
	}
	return transport.FailedCall(err, true)
}

func (c *Client) answer() transport.Reply {
	reply := newReply(c.response.StatusCode(), c.expected, c.response.Body())
	reply.IsGzipped = string(c.response.Header.ContentEncoding()) == gzipEncoding
	return reply
}

// newReply returns a reply; a status that is expected is a success, whatever it is.
func newReply(status, expected int, body []byte) transport.Reply {
	reply := transport.Reply{Code: histogram.CodeOfHTTP(status), Status: status, Body: body}
	if status == expected {
		reply.Code = histogram.OK
	}
	if reply.Code != histogram.OK {
		reply.Message = "HTTP status " + strconv.Itoa(status)
	}
	return reply
}
