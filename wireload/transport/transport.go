// Package transport is what the engine knows of a protocol: how a request becomes bytes, and how a reply is
// read to its end. Connections, deadlines and clocks are the engine's.
package transport

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
)

// HeaderBytesMax bounds each of a reply's headers.
const HeaderBytesMax = 64 << 10

// Reply is how a call ended whose reply came whole.
type Reply struct {
	Code histogram.Code
	// Status is that of HTTP; 0 on other transports.
	Status int
	// Message says why the code isn't OK.
	Message string
	// Body is valid until the next call.
	Body []byte
	// Close says that the server takes no further request on this connection.
	Close bool
}

// Client speaks a protocol over one connection at a time, one call at a time; only a Multiplexed one may share it.
type Client interface {
	// Prepare encodes a request.
	Prepare(r *request.Request) error
	// Open starts to use a fresh connection in place of the one before.
	Open(connection net.Conn)
	// Call writes what was prepared and reads the reply. Items of a stream go to `item`, which returns false to
	// end it early with ErrStopped; nil for calls with one reply. Every error is a *Failure, and leaves the
	// connection unusable.
	Call(item func([]byte) bool) (Reply, error)
}

// Multiplexed is a Client whose connection may be shared.
type Multiplexed interface {
	Client
	// Share makes a fresh connection one that clients may join.
	Share(connection net.Conn) Shared
	Join(shared Shared)
	// SetDeadline sets when a call on a shared connection fails.
	SetDeadline(at time.Time) error
}

// Shared is a connection of several clients; IsSpent reports whether it takes no further call.
type Shared interface{ IsSpent() bool }

// Send writes what the next Read waits for the reply to; data must stay as it is until then. Where that Read can write it
// first, one wait of Go's scheduler is enough for a request and its reply.
func Send(connection net.Conn, data []byte) error {
	if late, ok := connection.(interface{ SendLater(data []byte) }); ok {
		late.SendLater(data)
		return nil
	}
	_, err := connection.Write(data)
	return err
}

// ReadBufferBytes is what is read at once of most replies.
const ReadBufferBytes = 8 << 10

// Connection is the part of a Client whose connection has one request at a time.
type Connection struct {
	socket net.Conn
	// Reader reads the replies.
	Reader *bufio.Reader
	// long is a line that the reader has no room for.
	long []byte
	// sent gets the outcome of a request that is sent while its reply is read; nil for others.
	sent chan error
}

// NewConnection returns one that isn't open.
func NewConnection() Connection { return Connection{Reader: bufio.NewReaderSize(nil, ReadBufferBytes)} }

// Open starts to use a fresh connection.
func (c *Connection) Open(socket net.Conn) {
	c.socket = socket
	c.Reader.Reset(socket)
}

// Send sends a request, and waits until its reply begins: that to a long one may come before the server has read it all.
func (c *Connection) Send(out []byte) (err error) {
	const long = 256 << 10
	if len(out) < long {
		err = Send(c.socket, out)
	} else {
		c.sent = make(chan error, 1)
		go func() {
			_, err := c.socket.Write(out)
			c.sent <- err
		}()
	}
	if _, readError := c.Reader.Peek(1); readError != nil {
		return FailedCall(errors.Join(readError, err, c.EndSending()), false)
	}
	return nil
}

// EndSending returns why the server can't have the whole request, which is sent no further. It gets a moment for its end.
func (c *Connection) EndSending() (err error) {
	if c.sent == nil {
		return nil
	}
	select {
	case err = <-c.sent:
	case <-time.After(10 * time.Millisecond):
		_ = c.socket.SetDeadline(time.Unix(0, 1))
		err = <-c.sent
	}
	c.sent = nil
	return err
}

// ReadLine returns the next line of a reply without its end, valid until the next read. It has so many bytes at most.
func (c *Connection) ReadLine(bytesMax int) ([]byte, error) {
	line, err := c.Reader.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for c.long = c.long[:0]; errors.Is(err, bufio.ErrBufferFull) && len(c.long) <= bytesMax; {
			c.long = append(c.long, line...)
			line, err = c.Reader.ReadSlice('\n')
		}
		c.long = append(c.long, line...)
		line = c.long
	}
	if len(line) > bytesMax {
		return nil, NewGarbage("the reply has a line of more than %d bytes", bytesMax)
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}
