// Package event reads Server-Sent Events.
package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"wirebench.dev/wireload/line"
)

const (
	eventBufferBytes = 32 << 10
	// BytesMax bounds the data of an event.
	BytesMax = line.BytesMax
)

// ErrTooLong is the error of an event with more data.
var ErrTooLong = fmt.Errorf("an event is longer than %d bytes", BytesMax)

// Failure is the error of a stream that ended with an event named error. It is that event's message.
type Failure string

// Error returns the message.
func (f Failure) Error() string { return string(f) }

// MessageIn returns the message in the JSON of an error; what isn't JSON has none.
func MessageIn(text []byte) string {
	var envelope struct{ Message string }
	_ = json.Unmarshal(text, &envelope)
	return envelope.Message
}

// Reader reads Server-Sent Events: https://html.spec.whatwg.org/multipage/server-sent-events.html. Lines
// that end in a lone carriage return, which the standard allows and servers don't send, aren't told apart.
type Reader struct {
	reader *line.Reader
	name   []byte
	data   []byte
}

// NewReader returns a reader without a source.
func NewReader() *Reader { return &Reader{reader: line.NewReader(eventBufferBytes)} }

// Reset begins to read from another source.
func (e *Reader) Reset(from io.Reader) { e.reader.Reset(from) }

// ReadItems hands over the data of each event without a name, and reads until the source ends, so that its connection can
// be kept. It returns a Failure, an error of item, or that of a source that broke off: io.ErrUnexpectedEOF also where the
// event named end is missing. If end is empty, no event has to come last.
func (e *Reader) ReadItems(end string, item func([]byte) error) error {
	ended := end == ""
	var failure error
	for {
		name, data, err := e.Next()
		switch {
		case errors.Is(err, io.EOF) && (ended || failure != nil):
			return failure
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		switch name {
		case "message":
			if err := item(data); err != nil {
				return err
			}
		case "error":
			failure = Failure(MessageIn(data))
		case end:
			ended = true
		}
	}
}

// Next returns the name and data of the next event that has data, valid until the one after it. It
// returns io.EOF where the stream ends between events, io.ErrUnexpectedEOF where it does so inside one, and ErrTooLong.
func (e *Reader) Next() (name string, data []byte, err error) {
	e.name, e.data = e.name[:0], e.data[:0]
	lines := 0
	for {
		line, err := e.reader.Next()
		switch {
		case errors.Is(err, io.EOF) && (lines > 0 || len(line) > 0):
			return "", nil, io.ErrUnexpectedEOF
		case err != nil:
			return "", nil, err
		case len(line) > 0:
			lines++
			if e.field(line); len(e.data) > BytesMax {
				return "", nil, ErrTooLong
			}
			continue
		}
		if len(e.data) > 0 {
			return e.kind(), e.data[:len(e.data)-1], nil
		}
		e.name, lines = e.name[:0], 0
	}
}

func (e *Reader) kind() string {
	if len(e.name) == 0 {
		return "message"
	}
	return string(e.name)
}

// field takes a line of an event: `name: value`, or a comment.
func (e *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.data = append(append(e.data, value...), '\n')
	case "event":
		e.name = append(e.name[:0], value...)
	}
}
