package socket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/pb"
)

const (
	bufferSize  = 8 * 1024
	lineSizeMax = 64 * 1024
	// Read after the last reply: closing a connection with unread bytes resets it, and the client may lose the reply.
	lingerSize = 16 << 20
)

var (
	errStopping = errors.New("the service is stopping")
	errRejected = errors.New("the last reply says why")
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

	mu       sync.Mutex
	streams  map[uint32]context.CancelFunc // by id
	stopping bool
	resting  bool // waits for the preface or a request
}

func newConnection(server *Server, accepted net.Conn) *connection {
	c := &connection{Conn: accepted, server: server, streams: map[uint32]context.CancelFunc{}}
	c.reader, c.writer = bufio.NewReaderSize(c, bufferSize), bufio.NewWriterSize(c, bufferSize)
	return c
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

// Write gives the client as long to read as it may be idle.
func (c *connection) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(c.server.config.IdleTimeout))
	return c.Conn.Write(p)
}

func (c *connection) serve() {
	defer c.Close()
	err := c.converse()
	if !errors.Is(err, errStopping) { // of which streams tell the client
		c.cancelAll()
	}
	c.running.Wait()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.flush() == nil && errors.Is(err, errRejected) {
		_ = half.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(c.server.config.ReadTimeout))
		_, _ = io.CopyN(io.Discard, c, lingerSize)
	}
}

// converse returns why the conversation has ended.
func (c *connection) converse() error {
	preface, err := c.readPreface()
	if err != nil {
		return err
	}
	answer := c.answerFrame
	if with, ok := encodings[preface]; ok {
		c.with = with
	} else {
		c.reader = bufio.NewReaderSize(c.reader, lineSizeMax+len("\r\n")+1)
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
	for n := 1; n <= prefaceSize; n++ {
		start, err := c.reader.Peek(n)
		isPreface := func(preface string) bool { return strings.HasPrefix(preface, string(start)) }
		if errors.Is(err, io.EOF) || err == nil && !slices.ContainsFunc(slices.Collect(maps.Keys(encodings)), isPreface) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
	preface := make([]byte, prefaceSize)
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
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.stopping {
				return errStopping
			}
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

func (c *connection) answerFrame() error {
	r, err := readRequest(c.reader, c.server.config.BodyBytesMax)
	if rejected := (frameError{}); errors.As(err, &rejected) {
		return c.reject(rejected)
	}
	if err != nil {
		return err
	}
	begun, operation := time.Now(), r.method
	if r.method == cancelMethod {
		c.cancel(r.id)
		return nil
	}
	if c.isOpen(r.id) { // nobody could tell their replies apart
		return c.reject(frameError{r.id, application.Invalid("A stream with the id %d is open.", r.id)})
	}
	if r.method == streamMethod {
		return c.openStream(r)
	}
	var message string
	var body []byte
	if call, ok := c.server.calls[r.method]; ok {
		message, body, err = c.call(call, r.body)
	} else {
		method := strings.Trim(strconv.QuoteToASCII(r.method), `"`)
		operation, err = metrics.Unknown, application.Error(codes.Unimplemented, "Unknown method: %s.", method)
	}
	c.server.requests.Observe(operation, err, begun)
	c.unflushed = true
	return c.write(r.id, 0, message, body, err)
}

func (c *connection) call(call codec.Call, body []byte) (message string, data []byte, err error) {
	decode := func(request proto.Message) error { return c.with.decode(body, request) }
	response, err := call(context.Background(), decode)
	if err != nil {
		return "", nil, err
	}
	message = response.GetMessage() // which encode may clear
	data, err = c.with.encode(response)
	return message, data, err
}

// answerLine returns the next line in upper case, also an empty one, which the operation would reject.
func (c *connection) answerLine() error {
	line, err := c.reader.ReadSlice('\n') // the buffer holds the longest line
	if err != nil && len(line) <= lineSizeMax && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return err
	}
	begun := time.Now()
	text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	answer, invalid := application.ToUpper(string(text))+"\n", error(nil)
	if len(text) > lineSizeMax {
		invalid = application.Invalid("The line is longer than %d bytes.", lineSizeMax)
	} else if !utf8.Valid(text) {
		invalid = application.Invalid("The line is not valid UTF-8.")
	}
	if invalid != nil {
		answer = "ERROR: " + status.Convert(invalid).Message() + "\n"
	}
	c.server.requests.Observe(lineOperation, invalid, begun)
	c.writing.Lock()
	defer c.writing.Unlock()
	c.unflushed = true
	_, _ = c.writer.WriteString(answer) // flush returns the error
	if invalid != nil {
		return errRejected
	}
	return nil
}

// reject sends the last reply of the connection, after the ends of its streams.
func (c *connection) reject(rejected frameError) error {
	c.server.requests.Observe(metrics.Unknown, rejected.error, time.Now())
	c.cancelAll()
	c.running.Wait()
	_ = c.write(rejected.id, 0, "", nil, rejected.error)
	return errRejected
}

func (c *connection) write(id uint32, flags byte, message string, body []byte, err error) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return writeReply(c.writer, id, flags, message, body, err)
}

func (c *connection) flush() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.writer.Flush()
}

// Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
const streamsMax = 100

// openStream starts a stream, or replies why not.
func (c *connection) openStream(r request) error {
	begun := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	batches, err := c.transactions(ctx, r)
	if err != nil {
		cancel()
		c.server.requests.Observe(streamMethod, err, begun)
		c.unflushed = true
		return c.write(r.id, 0, "", nil, err)
	}
	c.mu.Lock()
	c.streams[r.id] = cancel
	c.mu.Unlock()
	c.running.Go(func() {
		defer cancel()
		err := c.sendBatches(r.id, batches)
		c.server.requests.Observe(streamMethod, err, begun)
		c.closeStream(r.id)
		_ = c.write(r.id, 0, "", nil, err)
		_ = c.flush() // to a client that may have left
	})
	return nil
}

func (c *connection) transactions(ctx context.Context, r request) (iter.Seq2[[]*pb.Transaction, error], error) {
	c.mu.Lock()
	open := len(c.streams)
	c.mu.Unlock()
	if open >= streamsMax {
		return nil, application.Error(codes.ResourceExhausted, "%d streams are open on this connection.", streamsMax)
	}
	request := &pb.StreamTransactionsRequest{}
	if err := c.with.decode(r.body, request); err != nil {
		return nil, err
	}
	return c.server.app.Ledger.Transactions(ctx, request)
}

// sendBatches returns why the stream has ended; nil is that there is no more.
func (c *connection) sendBatches(id uint32, batches iter.Seq2[[]*pb.Transaction, error]) error {
	for batch, err := range batches {
		if err != nil {
			return err
		}
		for _, transaction := range batch {
			body, err := c.with.encode(&pb.StreamTransactionsResponse{Data: transaction})
			if err != nil {
				return err
			}
			_ = c.write(id, flagMore, "", body, nil)
		}
		if c.flush() != nil { // also if a write has failed
			return application.ErrCancelled
		}
	}
	return nil
}

// closeStream forgets a stream before its end is sent: a client that has read it may use the id again.
func (c *connection) closeStream(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, id)
	if len(c.streams) == 0 && c.resting && !c.stopping {
		_ = c.SetReadDeadline(time.Now().Add(c.server.config.IdleTimeout))
	}
}

func (c *connection) isOpen(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.streams[id]
	return ok
}

// cancel ends a stream, if it is open.
func (c *connection) cancel(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.streams[id]; ok {
		cancel()
	}
}

func (c *connection) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.streams {
		cancel()
	}
}
