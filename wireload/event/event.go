// Package event reads Server-Sent Events.
package event

import (
	"bytes"
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
