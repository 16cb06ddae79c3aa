package socket

import (
	"errors"
	"net"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/line"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// LineClient is a transport.Client of services that answer each line with a line.
type LineClient struct {
	connection net.Conn
	reader     *line.Reader
	out        []byte
}

var _ transport.Client = (*LineClient)(nil)

// NewLine returns a client.
func NewLine() *LineClient { return &LineClient{reader: line.NewReader(readBufferBytes)} }

// Prepare ends the line.
func (c *LineClient) Prepare(r *request.Request) error {
	if err := request.CheckLine(r.Body); err != nil {
		return err
	}
	c.out = append(append(c.out[:0], r.Body...), '\n')
	return nil
}

// Open starts to use a fresh connection.
func (c *LineClient) Open(connection net.Conn) {
	c.connection = connection
	c.reader.Reset(connection)
}

// Close forgets the connection.
func (c *LineClient) Close() { c.connection = nil }

// Call sends the line and reads the one that answers it.
func (c *LineClient) Call(func([]byte) bool) (transport.Reply, error) {
	writeError := transport.Send(c.connection, c.out)
	if _, err := c.reader.Peek(1); err != nil {
		return transport.Reply{}, transport.FailedCall(errors.Join(err, writeError), false)
	}
	reply, err := c.reader.Next()
	if err != nil {
		return transport.Reply{}, transport.FailedCall(err, true)
	}
	if c.reader.Buffered() > 0 { // It would be taken for the reply to the next line.
		return transport.Reply{}, transport.NewGarbage("the service sent more than one line")
	}
	return transport.Reply{Code: histogram.OK, Body: reply, Close: writeError != nil}, nil
}
