package socket

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
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
	"wirebench.dev/services/internal/pb"
)

const (
	bufferBytes  = 8 * 1024
	lineBytesMax = 64 * 1024
)

var errStopping = errors.New("the service is stopping")

// connection is one client. A goroutine reads and answers its requests, one after another; during a stream, another one
// reads the next request, which may cancel it.
type connection struct {
	net.Conn
	server    *Server
	reader    *bufio.Reader
	with      encoding
	following chan received // the request after a stream

	writing sync.Mutex
	writer  *bufio.Writer

	mu      sync.Mutex // for what follows
	resting bool       // between requests
}

// received is a request, or why there is none.
type received struct {
	request
	err error
}

func newConnection(server *Server, accepted net.Conn) *connection {
	c := &connection{Conn: accepted, server: server}
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
	if invalid := (frameError{}); errors.As(c.answerRequests(), &invalid) {
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
		if err := answer(); err != nil {
			return err
		}
	}
}

// readPreface chooses the encoding. Bytes that aren't a preface stay in the reader, as the first line.
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
	if c.reader.Buffered() == 0 {
		if err := c.rest(c.server.config.IdleTimeout); err != nil {
			return err
		}
		if _, err := c.reader.Peek(1); err != nil {
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

// stop closes the connection if it is between requests; if not, the next call of rest does.
func (c *connection) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resting {
		_ = c.SetReadDeadline(time.Now())
	}
}

func (c *connection) answerFrame() error {
	r, err := c.receive()
	if err != nil || r.method == cancelMethod { // of a stream that has ended
		return err
	}
	operation, ok := c.server.operations[r.method]
	if !ok {
		name := strings.Trim(strconv.QuoteToASCII(r.method), `"`)
		return c.write(r.id, 0, "", nil, application.Error(codes.Unimplemented, "Unknown method: %s.", name))
	}
	begun, message, body := time.Now(), "", []byte(nil)
	if operation.Call != nil {
		message, body, err = c.call(operation.Call, r.body)
	} else {
		err = c.stream(r)
	}
	c.server.requests.Observe(r.method, err, begun)
	return c.write(r.id, 0, message, body, err)
}

// receive returns the next request, which may have come during a stream.
func (c *connection) receive() (request, error) {
	if c.following == nil {
		if err := c.awaitRequest(); err != nil {
			return request{}, err
		}
		return readRequest(c.reader)
	}
	// The one that reads has sent only what was there before.
	if err := cmp.Or(c.flush(), c.rest(c.server.config.IdleTimeout)); err != nil {
		return request{}, err
	}
	next := <-c.following
	c.following = nil
	return next.request, next.err
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

// stream sends the items of a stream, and returns why it has ended early, or nil.
func (c *connection) stream(r request) error {
	query := &pb.StreamTransactionsRequest{}
	if err := c.with.decode(r.body, query); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	batches, err := c.server.app.Ledger.Transactions(ctx, query)
	if err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Time{}) // however long the stream takes
	c.following = make(chan received, 1)
	go func(following chan<- received) {
		next := received{}
		if next.request, next.err = readRequest(c.reader); next.err != nil || next.method == cancelMethod && next.id == r.id {
			cancel()
		}
		following <- next
	}(c.following)
	for batch, err := range batches {
		if err != nil {
			return err
		}
		for _, transaction := range batch {
			body, err := c.with.encode(&pb.StreamTransactionsResponse{Data: transaction})
			if err != nil {
				return err
			}
			_ = c.write(r.id, flagMore, "", body, nil)
		}
		if c.flush() != nil { // also if a write has failed
			return application.ErrCancelled
		}
	}
	return nil
}

// answerLine answers the next line in upper case, also an empty one, which the operation would reject.
func (c *connection) answerLine() error {
	if err := c.awaitRequest(); err != nil {
		return err
	}
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
