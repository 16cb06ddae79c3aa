package rest

import (
	"fmt"
	"io"
	"net"
	"strconv"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/h2"
)

// H2C is a transport.Client of HTTP/2 in clear text, with prior knowledge: RFC 9113, 3.3.
type H2C struct {
	connection *h2.Connection
	expected   int
	reply      h2cReply
	stream     streamReader
}

var _ transport.Client = (*H2C)(nil)

// NewH2C returns a client of a service at host:port.
func NewH2C(host string) *H2C {
	c := &H2C{}
	c.connection = h2.New("http", host, &c.reply)
	return c
}

// Prepare encodes the frames of a request.
func (c *H2C) Prepare(r *request.Request) error {
	if err := r.CheckHeaders("rest"); err != nil {
		return err
	}
	for i := range r.Varying {
		if key := r.Varying[i].Key; key == "host" || key == "user-agent" {
			return fmt.Errorf("%s: %s must be the same for all requests over HTTP/2", r.Operation, key)
		}
	}
	head := h2.Head{Target: r.Path, BodyBytes: -1, Headers: r.Headers, Varying: r.Varying}
	head.Method = r.Method
	if !r.HasHeader("accept") {
		head.Accept = r.Accept
	}
	if len(r.Body) > 0 && !r.HasHeader("content-type") {
		head.ContentType = r.ContentType
	}
	if len(r.Body) > 0 || hasBody(r.Method) {
		head.BodyBytes = len(r.Body)
	}
	c.expected, c.stream.end = r.Status, r.End
	return c.connection.Prepare(head, r.Body)
}

// Open starts to use a fresh connection.
func (c *H2C) Open(connection net.Conn) { c.connection.Open(connection) }

// Close forgets the connection.
func (c *H2C) Close() { c.connection.Close() }

// Call sends the request and reads the reply to its end.
func (c *H2C) Call(item func([]byte) bool) (transport.Reply, error) {
	c.reply.begin()
	c.connection.Send()
	var reply transport.Reply
	var err error
	if item == nil {
		reply, err = c.receive()
	} else {
		reply, err = c.receiveStream(item)
	}
	reply.Close = reply.Close || c.connection.IsSpent()
	return reply, err
}

func (c *H2C) receive() (transport.Reply, error) {
	if err := c.connection.Receive(); err != nil {
		return transport.Reply{}, err
	}
	return c.reply.answer(c.expected)
}

// receiveStream reads a reply of Server-Sent Events.
func (c *H2C) receiveStream(item func([]byte) bool) (transport.Reply, error) {
	for c.reply.status == 0 && !c.connection.Ended() {
		if err := c.connection.Step(); err != nil {
			return transport.Reply{}, err
		}
	}
	if c.reply.status == 0 {
		return c.reply.answer(c.expected)
	}
	return c.stream.read(c.reply.status, c.reply.contentType, c, item)
}

// Read reads from the body of the reply that is coming.
func (c *H2C) Read(into []byte) (int, error) {
	for len(c.reply.body) == c.reply.read {
		c.reply.body, c.reply.read = c.reply.body[:0], 0
		if c.connection.Ended() {
			return 0, io.EOF
		}
		if err := c.connection.Step(); err != nil {
			return 0, err
		}
	}
	count := copy(into, c.reply.body[c.reply.read:])
	c.reply.read += count
	return count, nil
}

// h2cReply is what has come of a reply.
type h2cReply struct {
	status      int
	contentType string
	isGzipped   bool
	body        []byte
	// read is how much of the body a stream's reader has.
	read int
}

func (r *h2cReply) begin() {
	r.status, r.contentType, r.isGzipped, r.body, r.read = 0, "", false, r.body[:0], 0
}

// TakeField takes a field of the headers.
func (r *h2cReply) TakeField(field hpack.HeaderField) {
	switch field.Name {
	case ":status":
		if status, err := strconv.Atoi(field.Value); err == nil && status >= 200 { // Others are informational.
			r.status = status
		}
	case "content-type":
		r.contentType = field.Value
	case "content-encoding":
		r.isGzipped = field.Value == gzipEncoding
	}
}

// TakeData takes a part of the body.
func (r *h2cReply) TakeData(part []byte) error {
	if len(r.body)+len(part) > transport.ReplyBytesMax {
		return transport.NewGarbage("the reply is longer than %d bytes", transport.ReplyBytesMax)
	}
	r.body = append(r.body, part...)
	return nil
}

func (r *h2cReply) answer(expected int) (transport.Reply, error) {
	if r.status == 0 {
		return transport.Reply{}, transport.NewGarbage("the reply has no status")
	}
	reply := newReply(r.status, expected, r.body)
	reply.IsGzipped = r.isGzipped
	return reply, nil
}
