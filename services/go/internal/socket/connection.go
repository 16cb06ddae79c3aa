package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/metrics"
)

const (
	bufferBytes = 8 * 1024
	// Read after the last reply: closing a connection with unread bytes resets it, and the client may lose the reply.
	lingerBytes = 16 << 20
)

var (
	errStopping = errors.New("the service is stopping")
	// The connection ends with the reply that was sent last.
	errRejected = errors.New("the request was rejected")
)

// connection is one client. A goroutine reads and answers its requests; each of its streams has another.
type connection struct {
	net.Conn
	server *Server
	reader *bufio.Reader
	with   encoding
	// Whether the writer may hold replies to requests; streams flush their own.
	unflushed bool

	writing sync.Mutex
	writer  *bufio.Writer

	running sync.WaitGroup // streams

	mu sync.Mutex
	// By id; the functions cancel.
	streams  map[uint32]func()
	stopping bool
	// Whether the goroutine waits for the preface or a request.
	resting bool
}

func newConnection(server *Server, accepted net.Conn) *connection {
	c := &connection{Conn: accepted, server: server, streams: map[uint32]func(){}}
	c.reader = bufio.NewReaderSize(c, bufferBytes)
	c.writer = bufio.NewWriterSize(deadlineWriter{c, server.config.IdleTimeout}, bufferBytes)
	return c
}

// deadlineWriter limits how long a client may read nothing.
type deadlineWriter struct {
	net.Conn
	timeout time.Duration
}

// Write writes with a deadline.
func (w deadlineWriter) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(p)
}

// Read reads from the client, which may wait for replies first. A flush waits for a client that doesn't read its streams:
// it must not come before a request without a reply, as `cancel` is.
func (c *connection) Read(p []byte) (int, error) {
	if c.unflushed {
		c.unflushed = false
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(p)
}

func (c *connection) serve() {
	defer c.Close()
	err := c.converse()
	if !c.isStopping() { // streams end by themselves then, with the reason
		c.cancelAll()
	}
	c.running.Wait()
	if c.flush() == nil && errors.Is(err, errRejected) {
		c.linger()
	}
}

// converse returns why the conversation has ended.
func (c *connection) converse() error {
	preface, err := c.readPreface()
	if err != nil {
		return err
	}
	answer := c.answerFrame
	with, ok := encodings[preface]
	if c.with = with; !ok {
		c.reader = bufio.NewReaderSize(c.reader, lineBytesMax+len("\r\n")+1)
		answer = c.answerLine
	}
	for {
		if err := c.awaitRequest(); err != nil {
			return err
		}
		if err := answer(); err != nil {
			return err
		}
	}
}

// readPreface returns the preface; what begins otherwise is left in the reader, for line mode.
func (c *connection) readPreface() (string, error) {
	if err := c.rest(c.server.config.ReadTimeout); err != nil {
		return "", err
	}
	for n := 1; n <= prefaceBytes; n++ {
		start, err := c.reader.Peek(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if err != nil || !strings.HasPrefix(jsonPreface, string(start)) && !strings.HasPrefix(protobufPreface, string(start)) {
			return "", nil
		}
	}
	preface := make([]byte, prefaceBytes)
	_, err := io.ReadFull(c.reader, preface)
	return string(preface), err
}

// awaitRequest returns when a request has begun to arrive, or nothing more will, and starts its clock.
func (c *connection) awaitRequest() error {
	if c.reader.Buffered() == 0 {
		if err := c.rest(c.server.config.IdleTimeout); err != nil {
			return err
		}
		if _, err := c.reader.Peek(1); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = false
	return c.SetReadDeadline(time.Now().Add(c.server.config.ReadTimeout))
}

// rest limits how long the client may send nothing; while streams are open there is no limit.
func (c *connection) rest(timeout time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return errStopping
	}
	c.resting = true
	if len(c.streams) > 0 {
		return c.SetReadDeadline(time.Time{})
	}
	return c.SetReadDeadline(time.Now().Add(timeout))
}

// stop closes the connection as soon as it rests.
func (c *connection) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	if c.resting {
		_ = c.SetReadDeadline(time.Now())
	}
}

func (c *connection) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

func (c *connection) answerFrame() error {
	r, err := readRequest(c.reader, c.server.config.BodyBytesMax)
	if rejected := (frameError{}); errors.As(err, &rejected) {
		return c.reject(rejected)
	}
	if err != nil {
		return err
	}
	switch {
	case r.method == cancelMethod:
		c.cancel(r.id)
		return nil
	case c.isOpen(r.id): // nobody could tell their replies apart
		return c.reject(frameError{r.id, failure.Invalid("A stream with the id %d is open.", r.id)})
	case r.method == streamMethod:
		return c.openStream(r)
	}
	begun := time.Now()
	operation, out, err := r.method, reply{id: r.id}, error(nil)
	if method, ok := c.server.methods[r.method]; ok {
		out.message, out.body, err = method(context.Background(), c.with, r.body)
	} else {
		operation, err = metrics.Unknown, failure.New(codes.Unimplemented, "Unknown method: %s.", printable(r.method))
	}
	c.server.requests.Observe(operation, err, begun, len(r.body), len(out.body))
	return c.send(out, err)
}

// send buffers the reply to a request, with the code and message of an error if there is one.
func (c *connection) send(out reply, err error) error {
	c.unflushed = true
	return c.write(out, err)
}

func (c *connection) write(out reply, err error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err != nil {
		out.code, out.message = status.Code(err), status.Convert(err).Message()
	}
	return out.write(c.writer)
}

// reject sends the last reply of the connection, after the ends of its streams.
func (c *connection) reject(rejected frameError) error {
	c.server.requests.Observe(metrics.Unknown, rejected.error, time.Now(), 0, 0)
	c.cancelAll()
	c.running.Wait()
	return errors.Join(errRejected, c.send(reply{id: rejected.id}, rejected.error))
}

func (c *connection) flush() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.writer.Flush()
}

// linger lets the client read the last reply.
func (c *connection) linger() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = c.SetReadDeadline(time.Now().Add(c.server.config.ReadTimeout))
		_, _ = io.CopyN(io.Discard, c, lingerBytes)
	}
}

// printable returns ASCII as it is, and other bytes as escapes.
func printable(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if text[i] < utf8.RuneSelf {
			out.WriteByte(text[i])
		} else {
			fmt.Fprintf(&out, `\x%02x`, text[i])
		}
	}
	return out.String()
}
