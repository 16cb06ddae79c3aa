package rest

import (
	"fmt"
	"io"
	"strconv"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/h2"
)

// H2C is a transport.Client of HTTP/2 in clear text, with prior knowledge: RFC 9113, 3.3.
type H2C struct {
	*h2.Stream
	expected int
	reply    h2cReply
	events   streamReader
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
	c.expected, c.events.end = r.Status, r.End
	c.Stream.Prepare(head, r.Body)
	return nil
}

// Call sends the request and reads the reply to its end.
func (c *H2C) Call(item func([]byte) bool) (transport.Reply, error) {
	c.reply.begin()
	c.Send()
	var reply transport.Reply
	var err error
	if item == nil {
		reply, err = c.receive()
	} else {
		reply, err = c.receiveStream(item)
	}
	reply.Close = reply.Close || c.IsSpent()
	return reply, err
}

func (c *H2C) receive() (transport.Reply, error) {
	if err := c.Receive(); err != nil {
		return transport.Reply{}, err
	}
	return c.reply.answer(c.expected)
}

// receiveStream reads a reply of Server-Sent Events.
func (c *H2C) receiveStream(item func([]byte) bool) (transport.Reply, error) {
	status, contentType := 0, ""
	err := c.WaitUntil(func() bool {
		status, contentType = c.reply.status, c.reply.contentType
		return status != 0
	})
	if err != nil {
		return transport.Reply{}, err
	}
	if status == 0 {
		return c.reply.answer(c.expected)
	}
	return c.events.read(status, contentType, c, item)
}

// Read reads from the body of the reply that is coming.
func (c *H2C) Read(into []byte) (int, error) {
	count := 0
	err := c.WaitUntil(func() bool {
		count = copy(into, c.reply.body[c.reply.read:])
		if c.reply.read += count; c.reply.read == len(c.reply.body) {
			c.reply.body, c.reply.read = c.reply.body[:0], 0
		}
		return count > 0
	})
	if err == nil && count == 0 {
		err = io.EOF
	}
	return count, err
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
