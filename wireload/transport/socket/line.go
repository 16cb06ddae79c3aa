package socket

import (
	"bytes"
	"errors"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// lineBytesMax is the longest reply, with its end.
const lineBytesMax = 1 << 20

// LineClient is a transport.Client of services that answer each line with a line.
type LineClient struct {
	transport.Connection
	out []byte
}

// NewLine returns a client.
func NewLine() *LineClient { return &LineClient{Connection: transport.NewConnection()} }

// Prepare ends the line.
func (c *LineClient) Prepare(r *request.Request) error {
	if bytes.ContainsAny(r.Body, "\r\n") {
		return errors.New("a line can't have a line break")
	}
	c.out = append(append(c.out[:0], r.Body...), '\n')
	return nil
}

// Call sends the line and reads the one that answers it.
func (c *LineClient) Call(func([]byte) bool) (transport.Reply, error) {
	if err := c.Send(c.out); err != nil {
		return transport.Reply{}, err
	}
	line, err := c.ReadLine(lineBytesMax)
	if err != nil {
		return transport.Reply{}, transport.FailedCall(err, true)
	}
	if c.Reader.Buffered() > 0 { // It would be taken for the reply to the next line.
		return transport.Reply{}, transport.NewGarbage("the service sent more than one line")
	}
	return transport.Reply{Code: histogram.OK, Body: line}, nil
}
