package rest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httputil"
	"strconv"

	"wirebench.dev/wireload/event"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

const (
	eventStream = "text/event-stream"
	// An error's reply is an envelope of a hundred bytes.
	errorBytesMax = 64 << 10
	// fasthttp's length of a body in chunks.
	chunked = -1
)

// streamReader reads the streams of a client. Its buffer is kept for all of them, and made for the first one: a load without
// streams doesn't need it.
type streamReader struct{ events *event.Reader }

// readStream reads the body of a reply of Server-Sent Events to its end mark.
func (c *Client) readStream(item func([]byte) bool) (transport.Reply, error) {
	header := &c.response.Header
	reply, err := c.stream.read(header.StatusCode(), string(header.ContentType()), c.body(), item)
	if err == nil && !reply.Close && header.ContentLength() == chunked {
		if err := header.ReadTrailer(c.reader); err != nil {
			return transport.Reply{}, failRead(err)
		}
	}
	return reply, err
}

// body returns what follows the header of a reply.
func (c *Client) body() io.Reader {
	status, length := c.response.StatusCode(), c.response.Header.ContentLength()
	switch {
	case status == http.StatusNoContent || status == http.StatusNotModified:
		return http.NoBody
	case length == chunked:
		return httputil.NewChunkedReader(c.reader)
	case length >= 0:
		return io.LimitReader(c.reader, int64(length))
	}
	return c.reader
}

func (s *streamReader) read(status int, contentType string, body io.Reader, item func([]byte) bool) (transport.Reply, error) {
	if status != http.StatusOK {
		return readErrorReply(status, body)
	}
	if kind, _, _ := mime.ParseMediaType(contentType); kind != eventStream {
		return transport.Reply{}, transport.NewGarbage("the reply is %q and not %s", kind, eventStream)
	}
	return s.readEvents(body, item)
}

// readEvents reads until the body ends, so that its connection can be kept.
func (s *streamReader) readEvents(body io.Reader, item func([]byte) bool) (transport.Reply, error) {
	if s.events == nil {
		s.events = event.NewReader()
	}
	s.events.Reset(body)
	ended := false
	reply := transport.Reply{Code: histogram.OK, Status: http.StatusOK}
	for {
		name, data, err := s.events.Next()
		switch {
		case errors.Is(err, io.EOF) && ended:
			return reply, nil
		case err != nil:
			return transport.Reply{}, transport.FailedCall(err, true)
		}
		switch name {
		case "message":
			if !item(data) {
				return transport.Reply{}, transport.ErrStopped
			}
		case "end":
			ended = true
		case "error":
			ended = true
			reply.Code, reply.Message = histogram.Internal, messageIn(data)
		}
	}
}

// readErrorReply reads a reply that is not a stream.
func readErrorReply(status int, body io.Reader) (transport.Reply, error) {
	text, err := io.ReadAll(io.LimitReader(body, errorBytesMax))
	if err != nil {
		return transport.Reply{}, transport.FailedCall(err, true)
	}
	code := histogram.CodeOfHTTP(status)
	if code == histogram.OK { // A success without a stream.
		return transport.Reply{}, transport.NewGarbage("HTTP status %d in place of a stream", status)
	}
	message := messageIn(text)
	if message == "" {
		message = "HTTP status " + strconv.Itoa(status)
	}
	return transport.Reply{Code: code, Status: status, Message: message, Body: text, Close: len(text) == errorBytesMax}, nil
}

func messageIn(text []byte) string {
	var envelope struct{ Message string }
	_ = json.Unmarshal(text, &envelope) // What isn't JSON has no message.
	return envelope.Message
}
