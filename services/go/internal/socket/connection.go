package socket

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/platform"
)

const (
	bufferBytes = 8 * 1024
	// How much is read and thrown away after the last reply, so that the client gets to read it: closing a socket with
	// unread bytes resets the connection, and the reset may overtake the reply.
	lingerBytes = 16 << 20
	// A client that has been answered must not hold up a service that is told to stop.
	drainLinger = time.Second
)

var errStopping = errors.New("the service stops")

// stream is what TCP and TLS have in common.
type stream interface {
	net.Conn
	CloseWrite() error
}

// connection is one client's conversation. All of it is its own goroutine's, but for drain and abort.
type connection struct {
	settings *platform.Settings
	calls    calls
	tcp      *net.TCPConn
	stream   stream
	reader   *bufio.Reader
	writer   *bufio.Writer
	// How long the client may be quiet between requests; short until it has sent one.
	quiet time.Duration

	mu       sync.Mutex
	draining bool
	// Whether nothing of a next request is here.
	atRest bool
}

func newConnection(settings *platform.Settings, calls calls, accepted net.Conn) *connection {
	tcp := accepted.(*net.TCPConn)
	c := &connection{settings: settings, calls: calls, tcp: tcp, stream: tcp, quiet: settings.ReadTimeout, atRest: true}
	if settings.TLS != nil {
		c.stream = tls.Server(tcp, settings.TLS)
	}
	c.reader = bufio.NewReaderSize(c.stream, bufferBytes)
	c.writer = bufio.NewWriterSize(deadlineWriter{c.stream, settings.IdleTimeout}, bufferBytes)
	return c
}

// deadlineWriter gives a client so long to read each piece of a reply: what it asks for and doesn't read must not keep
// its connection for good.
type deadlineWriter struct {
	stream
	timeout time.Duration
}

func (w deadlineWriter) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.stream.Write(p)
}

// serve talks with the client until it or the protocol ends the conversation.
func (c *connection) serve() {
	defer c.stream.Close()
	err := c.converse()
	if flushed := c.writer.Flush(); flushed != nil {
		return
	}
	if err == nil || errors.Is(err, errStopping) {
		c.linger()
	}
}

// drain has the connection closed between frames; safe from any goroutine.
func (c *connection) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if c.atRest {
		// Ends a wait for a request; what has arrived can still be read.
		_ = c.tcp.CloseRead()
	}
}

// abort closes the connection at once; safe from any goroutine.
func (c *connection) abort() { _ = c.tcp.Close() }

// converse returns nil when the server has said its last word, and else why there is nobody to hear it.
func (c *connection) converse() error {
	codec, err := c.open()
	if err != nil {
		return err
	}
	isWhole, next := isWholeFrame, c.frame(codec)
	if codec == nil {
		isWhole, next = isWholeLine, c.line
	}
	for {
		if err := c.awaitRequest(isWhole); err != nil {
			return err
		}
		if ended, err := next(); ended || err != nil {
			return err
		}
		c.quiet = c.settings.IdleTimeout
		if c.reader.Buffered() == 0 {
			if err := c.writer.Flush(); err != nil {
				return err
			}
		}
	}
}

// open reads the preface, and returns the codec that it asks for; line mode has none, and no preface.
func (c *connection) open() (operations.Codec, error) {
	// A handshake is part of this read, and so of its time.
	if err := c.stream.SetReadDeadline(time.Now().Add(c.settings.ReadTimeout)); err != nil {
		return nil, err
	}
	for n := 1; n <= prefaceBytes; n++ {
		start, err := c.reader.Peek(n)
		if errors.Is(err, io.EOF) {
			return nil, nil // what is here is the last line, if anything is
		}
		if err != nil {
			return nil, err
		}
		if string(start) != jsonPreface[:n] && string(start) != protobufPreface[:n] {
			return nil, nil
		}
	}
	var preface [prefaceBytes]byte
	_, err := io.ReadFull(c.reader, preface[:])
	if string(preface[:]) == protobufPreface {
		return operations.Protobuf{}, err
	}
	return operations.JSON{}, err
}

// awaitRequest returns when something of a request is here, or nothing more will come. It starts the request's clock,
// unless all of it is here.
func (c *connection) awaitRequest(isWhole func(*bufio.Reader) bool) error {
	if c.reader.Buffered() == 0 {
		if err := c.rest(true); err != nil {
			return err
		}
		if err := c.stream.SetReadDeadline(time.Now().Add(c.quiet)); err != nil {
			return err
		}
		_, err := c.reader.Peek(1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	if err := c.rest(false); err != nil {
		return err
	}
	if isWhole(c.reader) {
		return nil
	}
	return c.stream.SetReadDeadline(time.Now().Add(c.settings.ReadTimeout))
}

// rest notes whether nothing of a next request is here; if the service stops, the connection doesn't wait for one.
func (c *connection) rest(is bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining && is {
		return errStopping
	}
	c.atRest = is
	return nil
}

// frame returns what answers the next frame, and says whether it was the last one.
func (c *connection) frame(codec operations.Codec) func() (ended bool, err error) {
	return func() (bool, error) {
		request, err := readRequest(c.reader, c.settings.BodyBytesMax)
		if refused := (*frameError)(nil); errors.As(err, &refused) {
			return true, c.calls.refuse(c.writer, refused)
		}
		if err != nil {
			return true, err
		}
		return false, c.calls.answer(c.writer, codec, request)
	}
}

// line answers the next line, and says whether it was the last one.
func (c *connection) line() (ended bool, err error) {
	text, err := readLine(c.reader)
	isLast := errors.Is(err, io.EOF)
	if refused := (*lineError)(nil); errors.As(err, &refused) {
		return true, c.calls.refuseLine(c.writer, refused)
	}
	if err != nil && !isLast || isLast && text == "" {
		return true, err
	}
	return isLast, c.calls.answerLine(c.writer, text)
}

// linger lets the client read the last reply.
func (c *connection) linger() {
	patience := c.settings.ReadTimeout
	c.mu.Lock()
	if c.draining {
		patience = min(patience, drainLinger)
	}
	c.mu.Unlock()
	if c.stream.CloseWrite() == nil && c.stream.SetReadDeadline(time.Now().Add(patience)) == nil {
		_, _ = io.CopyN(io.Discard, c.stream, lingerBytes)
	}
}
