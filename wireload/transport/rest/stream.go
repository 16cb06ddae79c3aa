package rest

import (
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
type streamReader struct {
	events *event.Reader
	// end names the event that ends a stream; where it is empty, the end of the body does.
	end string
}

// readStream reads the body of a reply of Server-Sent Events.
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
		return &sizedBody{c.reader, length}
	}
	return c.reader
}

// sizedBody is a body whose length is known: it is cut short where the connection ends before.
type sizedBody struct {
	reader io.Reader
	left   int
}

func (b *sizedBody) Read(into []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	count, err := b.reader.Read(into[:min(len(into), b.left)])
	if b.left -= count; b.left > 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return count, err
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

func (s *streamReader) readEvents(body io.Reader, item func([]byte) bool) (transport.Reply, error) {
	if s.events == nil {
		s.events = event.NewReader()
	}
	s.events.Reset(body)
	err := s.events.ReadItems(s.end, func(data []byte) error {
		if !item(data) {
			return transport.ErrStopped
		}
		return nil
	})
	var failure event.Failure
	switch {
	case err == nil:
		return transport.Reply{Code: histogram.OK, Status: http.StatusOK}, nil
	case errors.As(err, &failure):
		return transport.Reply{Code: histogram.Internal, Status: http.StatusOK, Message: failure.Error()}, nil
	case errors.Is(err, transport.ErrStopped):
		return transport.Reply{}, err
	}
	return transport.Reply{}, transport.FailedCall(err, true)
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
	message := event.MessageIn(text)
	if message == "" {
		message = "HTTP status " + strconv.Itoa(status)
	}
	return transport.Reply{Code: code, Status: status, Message: message, Body: text, Close: len(text) == errorBytesMax}, nil
}
