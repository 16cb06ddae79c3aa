package socket

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"go.k6.io/k6/lib"
	"wirebench.dev/wireload/frame"
)

// Status codes, which are gRPC's, that the client gives by itself when no reply came.
const (
	statusOK                = 0
	statusDeadlineExceeded  = 4
	statusResourceExhausted = 8
	statusUnavailable       = 14
)

const (
	// Up to here a write is taken by the kernel at once. A longer one may wait for the server to read,
	// which in turn may wait for us to read its reply: it has to happen beside the reading.
	inlineWriteBytesMax = 32 << 10
	readBufferBytes     = 16 << 10
	// How long a write may last once its request is answered: it has normally ended, and only has to say so.
	writeGrace = 100 * time.Millisecond
)

// A connection that was idle for longer is looked at before it is used: a server closes idle ones (after
// 75 s), and a request sent into a closed connection would be counted as failed. HTTP and gRPC clients
// notice by themselves. The look takes a millisecond, outside the service time.
var (
	idleUnchecked = 10 * time.Second
	lookTakes     = time.Millisecond
)

var errStream = errors.New("the server answered with a stream")

// connection is one open connection. Any error leaves it in an unknown state: it must be closed then.
type connection struct {
	socket net.Conn
	reader *bufio.Reader
	// nextID is the id of the next request; ids are never used twice on a connection.
	nextID uint32
	// out is written at once; it starts with the preface, so that it costs no packet of its own.
	out      []byte
	lastUsed time.Time
}

// open dials. Go sets TCP_NODELAY on every TCP connection, and k6's dialer leaves it so.
func open(ctx context.Context, dialer lib.DialContexter, address, preface string) (*connection, error) {
	socket, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &connection{
		socket: socket,
		reader: bufio.NewReaderSize(socket, readBufferBytes),
		nextID: 1,
		out:    []byte(preface),

		lastUsed: time.Now(),
	}, nil
}

// stale reports whether the server has closed the connection while it was idle.
func (c *connection) stale() bool {
	if time.Since(c.lastUsed) < idleUnchecked {
		return false
	}
	if err := c.socket.SetReadDeadline(time.Now().Add(lookTakes)); err != nil {
		return true
	}
	_, err := c.reader.Peek(1)
	// Whatever else there is to read, it is no answer to a request.
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

// used says whether a request was sent on the connection before.
func (c *connection) used() bool { return c.nextID > 1 }

// answer is a reply and the moment when it was complete; without that moment there is none.
type answer struct {
	frame.Reply
	end time.Time
}

// exchange sends a request and reads its reply. It returns the moment of sending, also with an error. There may be a
// reply and an error.
func (c *connection) exchange(ctx context.Context, deadline time.Time, request frame.Request) (answer, time.Time, error) {
	id, err := c.prepare(request)
	if err != nil {
		return answer{}, time.Now(), err
	}
	sent := time.Now()
	if err := c.socket.SetDeadline(deadline); err != nil {
		return answer{}, sent, err
	}
	// When k6 is told to stop, a waiting read has to end.
	stop := context.AfterFunc(ctx, func() { _ = c.socket.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	written := c.write()
	came, err := c.receive(id)
	c.lastUsed = time.Now()
	return came, sent, errors.Join(err, c.finishWrite(written, err))
}

// finishWrite waits for the end of a write whose reply is there, or will never be. A server may
// answer before it has read everything (too long a request); then the rest is not waited for, and the
// error it gives closes the connection, as where the next frame starts is lost.
func (c *connection) finishWrite(written <-chan error, receiveError error) error {
	select {
	case err := <-written:
		c.out = c.out[:0]
		return err
	default:
	}
	deadline := time.Now().Add(writeGrace)
	if receiveError != nil {
		deadline = time.Unix(1, 0)
	}
	_ = c.socket.SetWriteDeadline(deadline)
	err := <-written
	c.out = c.out[:0]
	return err
}

// prepare encodes a request and returns the id that it gets.
func (c *connection) prepare(request frame.Request) (id uint32, err error) {
	request.ID = c.nextID
	c.nextID++
	c.out, err = frame.AppendRequest(c.out, request)
	return request.ID, err
}

// write sends what was prepared; the channel reports how it ended.
func (c *connection) write() <-chan error {
	written := make(chan error, 1)
	if len(c.out) <= inlineWriteBytesMax {
		_, err := c.socket.Write(c.out)
		written <- err
		return written
	}
	go func() {
		_, err := c.socket.Write(c.out)
		written <- err
	}()
	return written
}

func (c *connection) receive(id uint32) (answer, error) {
	payload, err := frame.ReadPayload(c.reader)
	if err != nil {
		return answer{}, err
	}
	end := time.Now()
	reply, err := frame.ParseReply(payload)
	switch {
	case err != nil:
		return answer{}, err
	case reply.ID != id:
		return answer{}, fmt.Errorf("the server answered a request that is not open: %s", reply.Message)
	case reply.More():
		return answer{}, errStream
	}
	return answer{reply, end}, nil
}

// closedBetweenFrames says whether the server had closed the connection when the request went out, so that
// not a byte of a reply came. Only then can it be sent again.
func closedBetweenFrames(err error) bool {
	return !errors.Is(err, io.ErrUnexpectedEOF) &&
		(errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE))
}

func (c *connection) close() { _ = c.socket.Close() }

// failure gives the status and the words for an error of a connection. The words leave out ports, so
// that the same failure always reads the same and can be counted.
func failure(err error, timeout time.Duration) (status uint8, message string) {
	var operation *net.OpError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &plain):
		return statusUnavailable, "the server does not speak TLS"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return statusDeadlineExceeded, fmt.Sprintf("no reply within %s", timeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return statusUnavailable, "the server closed the connection in the middle of a reply"
	case errors.Is(err, io.EOF):
		return statusUnavailable, "the server closed the connection"
	case errors.As(err, &operation):
		return statusUnavailable, operation.Err.Error()
	}
	return statusUnavailable, err.Error()
}
