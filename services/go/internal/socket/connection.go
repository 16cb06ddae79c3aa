package socket

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"os"
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
	bufferBytes  = 8 * 1024
	lineBytesMax = 64 * 1024
	// Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
	streamsMax = 100
)

var errStopping = errors.New("the service is stopping")

// connection is one client. A goroutine reads and answers its requests; each of its streams has another.
type connection struct {
	net.Conn
	server *Server
	ctx    context.Context // of its streams
	reader *bufio.Reader
	with   encoding

	writing sync.Mutex
	writer  *bufio.Writer

	running sync.WaitGroup // streams
	mu      sync.Mutex     // for what follows
	streams map[uint32]context.CancelFunc
	resting bool // between requests
}

func newConnection(server *Server, accepted net.Conn) *connection {
	c := &connection{Conn: accepted, server: server, streams: map[uint32]context.CancelFunc{}}
	c.reader, c.writer = bufio.NewReaderSize(c, bufferBytes), bufio.NewWriterSize(c, bufferBytes)
	return c
}

// Read first sends the replies so far: the client may wait for them.
func (c *connection) Read(p []byte) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
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
	defer context.AfterFunc(c.server.stopping, c.stop)()
	defer context.AfterFunc(c.server.aborted, func() { _ = c.Close() })()
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	err := c.answerRequests()
	if !errors.Is(err, errStopping) { // then streams end by themselves, and say why
		cancel()
	}
	c.running.Wait()
	if invalid := (frameError{}); errors.As(err, &invalid) {
		c.server.requests.Observe(metrics.Unknown, invalid.error, time.Now())
		_ = c.write(invalid.id, 0, "", nil, invalid.error)
	}
	_ = c.flush() // to a client that may have left
}

// answerRequests returns why there are no more.
func (c *connection) answerRequests() error {
	hasPreface, err := c.readPreface()
	if err != nil {
		return err
	}
	answer := c.answerFrame
	if !hasPreface {
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

// readPreface chooses the encoding. What is no preface stays in the reader: it is the first line.
func (c *connection) readPreface() (found bool, err error) {
	if err := c.rest(c.server.config.ReadTimeout); err != nil {
		return false, err
	}
	var start []byte
	for n := 1; n <= len(jsonPreface); n++ {
		start, err = c.reader.Peek(n)
		isPreface := strings.HasPrefix(jsonPreface, string(start)) || strings.HasPrefix(protobufPreface, string(start))
		if errors.Is(err, io.EOF) || err == nil && !isPreface {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	c.with = encodings[string(start)]
	_, err = c.reader.Discard(len(start))
	return true, err
}

// awaitRequest returns when a request has begun to arrive, which then has to be complete within the read timeout.
func (c *connection) awaitRequest() error {
	for c.reader.Buffered() == 0 {
		if err := c.rest(c.server.config.IdleTimeout); err != nil {
			return err
		}
		_, err := c.reader.Peek(1)
		if isIdle := errors.Is(err, os.ErrDeadlineExceeded); err != nil && !(isIdle && c.hasStreams()) {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = false
	return c.SetReadDeadline(time.Now().Add(c.server.config.ReadTimeout))
}

// rest limits how long the client may be silent.
func (c *connection) rest(timeout time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.stopping.Err() != nil {
		return errStopping
	}
	c.resting = true
	return c.SetReadDeadline(time.Now().Add(timeout))
}

// stop closes the connection as soon as it rests.
func (c *connection) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resting {
		_ = c.SetReadDeadline(time.Now())
	}
}

func (c *connection) answerFrame() error {
	r, err := readRequest(c.reader, c.server.config.BodyBytesMax)
	if err != nil {
		return err
	}
	begun := time.Now()
	c.mu.Lock()
	cancel, isOpen := c.streams[r.id]
	c.mu.Unlock()
	if r.method == cancelMethod {
		if isOpen {
			cancel()
		}
		return nil
	}
	if isOpen { // the client could not tell the replies apart
		return frameError{r.id, application.Invalid("A stream with the id %d is open.", r.id)}
	}
	operation, ok := c.server.operations[r.method]
	label, message, body := r.method, "", []byte(nil)
	switch {
	case !ok:
		name := strings.Trim(strconv.QuoteToASCII(r.method), `"`)
		label, err = metrics.Unknown, application.Error(codes.Unimplemented, "Unknown method: %s.", name)
	case operation.Call != nil:
		message, body, err = c.call(operation.Call, r.body)
	default:
		if err = c.openStream(r); err == nil {
			return nil
		}
	}
	c.server.requests.Observe(label, err, begun)
	return c.write(r.id, 0, message, body, err)
}

func (c *connection) call(call codec.Call, body []byte) (message string, data []byte, err error) {
	decode := func(request proto.Message) error { return c.with.decode(body, request) }
	response, err := call(c.ctx, decode)
	if err != nil {
		return "", nil, err
	}
	message = response.GetMessage() // which encode may clear
	data, err = c.with.encode(response)
	return message, data, err
}

// openStream starts a stream, or returns why not.
func (c *connection) openStream(r request) error {
	begun := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.streams) == streamsMax {
		return application.Error(codes.ResourceExhausted, "%d streams are open on this connection.", streamsMax)
	}
	query := &pb.StreamTransactionsRequest{}
	if err := c.with.decode(r.body, query); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.ctx)
	batches, err := c.server.app.Ledger.Transactions(ctx, query)
	if err != nil {
		cancel()
		return err
	}
	c.streams[r.id] = cancel
	c.running.Go(func() {
		defer cancel()
		err := c.sendBatches(r.id, batches)
		c.server.requests.Observe(r.method, err, begun)
		c.mu.Lock()
		delete(c.streams, r.id) // before the end is sent: a client that has read it may use the id again
		c.mu.Unlock()
		_ = c.write(r.id, 0, "", nil, err)
		_ = c.flush() // to a client that may have left
	})
	return nil
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

func (c *connection) hasStreams() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.streams) > 0
}

// answerLine answers the next line in upper case, also an empty one, which the operation would reject.
func (c *connection) answerLine() error {
	line, err := c.reader.ReadSlice('\n') // the buffer holds the longest line
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	begun, invalid := time.Now(), error(nil)
	text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
	if len(text) > lineBytesMax {
		invalid = application.Invalid("The line is longer than %d bytes.", lineBytesMax)
	} else if !utf8.ValidString(text) {
		invalid = application.Invalid("The line is not valid UTF-8.")
	}
	reply := application.ToUpper(text)
	if invalid != nil {
		reply = "ERROR: " + status.Convert(invalid).Message()
	}
	c.server.requests.Observe(lineOperation, invalid, begun)
	_, _ = c.writer.WriteString(reply + "\n") // flush returns the error
	return invalid
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
