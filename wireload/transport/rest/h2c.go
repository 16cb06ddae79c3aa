package rest

import (
	"fmt"

	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/h2"
)

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
	for i := range r.Varying {
		if key := r.Varying[i].Key; key == "host" || key == "user-agent" {
			return fmt.Errorf("%s: %s must be the same for all requests over HTTP/2", r.Operation, key)
		}
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
