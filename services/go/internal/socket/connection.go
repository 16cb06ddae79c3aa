package socket

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/platform"
)

const (
	readBufferBytes = 8 * 1024
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

// connection is one client's conversation. All of it is its own goroutine's, but for drain and abort, and for streams,
// which have goroutines of their own.
type connection struct {
	settings *platform.Settings
	calls    calls
	tcp      *net.TCPConn
	stream   stream
	reader   *bufio.Reader
	replies  *replies
	streams  *streams
	// How long the client may be quiet between requests; short until it has sent one.
	quiet time.Duration
	// Whether the buffer may hold replies that aren't of streams, which flush their own.
	unflushed bool

	mu       sync.Mutex
	draining bool
	// Whether nothing of a next request is here.
	atRest bool
}

func newConnection(worker *platform.Worker, accepted net.Conn) *connection {
	settings, tcp := worker.Settings, accepted.(*net.TCPConn)
	c := &connection{
		settings: settings, calls: calls{worker}, tcp: tcp, stream: tcp, quiet: settings.ReadTimeout, atRest: true,
	}
	if settings.TLS != nil {
		c.stream = tls.Server(tcp, settings.TLS)
	}
	c.reader = bufio.NewReaderSize(c.stream, readBufferBytes)
	c.replies = newReplies(c.stream, settings.IdleTimeout)
	c.streams = newStreams(worker, c.replies, c.streamEnded)
	return c
}

// serve talks with the client until it or the protocol ends the conversation.
func (c *connection) serve() {
	defer c.stream.Close()
	err := c.converse()
	if !errors.Is(err, errStopping) { // which streams are told, and say
		c.streams.leave()
	}
	c.streams.wait()
	if flushed := c.replies.flush(); flushed != nil {
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
	if c.atRest && c.streams.count() == 0 {
		// Ends a wait for a request; what has arrived can still be read.
		_ = c.tcp.CloseRead()
	}
}

// streamEnded has a wait for a request that streams have made longer end in time, if none of them is open any more.
func (c *connection) streamEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.atRest || c.streams.count() > 0:
	case c.draining:
		_ = c.tcp.CloseRead()
	default:
		_ = c.stream.SetReadDeadline(time.Now().Add(c.quiet))
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
		// To flush is to wait for a stream whose client doesn't read. What has no reply, as `cancel`, mustn't.
		if c.unflushed && c.reader.Buffered() == 0 {
			if err := c.replies.flush(); err != nil {
				return err
			}
			c.unflushed = false
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
		if err := c.rest(); err != nil {
			return err
		}
		_, err := c.reader.Peek(1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	c.mu.Lock()
	c.atRest = false
	c.mu.Unlock()
	if isWhole(c.reader) {
		return nil
	}
	return c.stream.SetReadDeadline(time.Now().Add(c.settings.ReadTimeout))
}

// rest notes that nothing of a next request is here, and how long the client may take to send it: as long as it likes
// while streams are open. If the service stops, the connection doesn't wait for one.
func (c *connection) rest() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return errStopping
	}
	c.atRest = true
	if c.streams.count() > 0 {
		return c.stream.SetReadDeadline(time.Time{})
	}
	return c.stream.SetReadDeadline(time.Now().Add(c.quiet))
}

// frame returns what answers the next frame, and says whether it was the last one.
func (c *connection) frame(codec operations.Codec) func() (ended bool, err error) {
	return func() (bool, error) {
		request, err := readRequest(c.reader, c.settings.BodyBytesMax)
		if refused := (*frameError)(nil); errors.As(err, &refused) {
			return true, c.refuse(refused)
		}
		if err != nil {
			return true, err
		}
		if string(request.method) == cancelMethod {
			c.streams.cancel(request.id)
			return false, nil
		}
		if c.streams.find(request.id) != nil { // nobody could tell the two's replies apart
			taken := domain.Errorf(domain.InvalidArgument, "A stream with the id %d is open.", request.id)
			return true, c.refuse(&frameError{request.id, taken})
		}
		if string(request.method) == operations.StreamTransactions.Name {
			if refused := c.streams.begin(codec, request); refused != nil {
				return false, c.send(reply{id: request.id, code: refused.Code, message: refused.Message})
			}
			return false, nil
		}
		return false, c.send(c.calls.answer(codec, request))
	}
}

// refuse says the last word; streams end without one.
func (c *connection) refuse(refused *frameError) error {
	c.streams.leave()
	return c.send(c.calls.refuse(refused))
}

// send takes a reply, which may stay in the buffer.
func (c *connection) send(frame reply) error {
	c.unflushed = true
	return c.replies.frame(frame)
}

// sendText takes a reply in line mode, which may stay in the buffer.
func (c *connection) sendText(text string) error {
	c.unflushed = true
	return c.replies.text(text)
}

// line answers the next line, and says whether it was the last one.
func (c *connection) line() (ended bool, err error) {
	text, err := readLine(c.reader)
	isLast := errors.Is(err, io.EOF)
	if refused := (*lineError)(nil); errors.As(err, &refused) {
		return true, c.sendText(c.calls.refuseLine(refused))
	}
	if err != nil && !isLast || isLast && text == "" {
		return true, err
	}
	return isLast, c.sendText(c.calls.answerLine(text))
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
