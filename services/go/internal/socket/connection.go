package socket

import (
	"bufio"
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
)

const (
	bufferBytes  = 8 * 1024
	lineBytesMax = 64 * 1024
)

// connection is one client. A goroutine reads and answers its requests, one after another.
type connection struct {
	net.Conn
	server *Server
	reader *bufio.Reader
	writer *bufio.Writer
	with   encoding

	mu      sync.Mutex // for what follows
	resting bool       // between requests
}

func newConnection(server *Server, accepted net.Conn) *connection {
	c := &connection{Conn: accepted, server: server}
	c.reader, c.writer = bufio.NewReaderSize(c, bufferBytes), bufio.NewWriterSize(c, bufferBytes)
	return c
}

// Read first sends the replies so far: the client may wait for them.
func (c *connection) Read(p []byte) (int, error) {
	if err := c.writer.Flush(); err != nil {
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
		_ = writeReply(c.writer, invalid.id, "", nil, invalid.error)
	}
	_ = c.writer.Flush() // to a client that may have left
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
		return net.ErrClosed
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
	if err := c.awaitRequest(); err != nil {
		return err
	}
	r, err := readRequest(c.reader)
	if err != nil {
		return err
	}
	operation := c.server.operations[r.method]
	if operation.Call == nil {
		name := strings.Trim(strconv.QuoteToASCII(r.method), `"`)
		return writeReply(c.writer, r.id, "", nil, application.Error(codes.Unimplemented, "Unknown method: %s.", name))
	}
	begun := time.Now()
	message, body, err := c.call(operation.Call, r.body)
	c.server.requests.Observe(r.method, err, begun)
	return writeReply(c.writer, r.id, message, body, err)
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
