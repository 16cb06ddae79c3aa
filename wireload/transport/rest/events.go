package rest

import (
	"bytes"
	"cmp"
	"io"
	"net/http"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

// eventBytesMax is how long the data of an event, or a line, may be.
const eventBytesMax = 1 << 20

// events reads Server-Sent Events as they come: https://html.spec.whatwg.org/multipage/server-sent-events.html. Lines
// that end in a lone carriage return, which the standard allows and servers don't send, aren't told apart.
type events struct {
	// end names the event that has to come last; where it is empty, the stream ends with the body.
	end string
	// line is the beginning of a line whose rest is still to come. name and data are those of an event that isHalf.
	line, name, data []byte
	isHalf, hasEnded bool
	// failure is the message of an event named error.
	failure string
}

func (e *events) begin() {
	e.line, e.name, e.data = e.line[:0], e.name[:0], e.data[:0]
	e.isHalf, e.hasEnded, e.failure = false, e.end == "", ""
}

// take takes a part of the stream. The data of each event without a name goes to item, which may stop the stream.
func (e *events) take(part []byte, item func([]byte) bool) error {
	for {
		line, rest, isWhole := bytes.Cut(part, []byte("\n"))
		if len(e.line)+len(e.data)+len(line) > eventBytesMax {
			return transport.NewGarbage("an event is longer than %d bytes", eventBytesMax)
		}
		if !isWhole {
			e.line = append(e.line, line...)
			return nil
		}
		if len(e.line) > 0 {
			e.line = append(e.line, line...)
			line = e.line
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) > 0 {
			e.takeField(line)
		} else if !e.dispatch(item) {
			return transport.ErrStopped
		}
		e.line, part = e.line[:0], rest
	}
}

// takeField takes a line of an event: `name: value`, or a comment.
func (e *events) takeField(line []byte) {
	e.isHalf = true
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.data = append(append(e.data, value...), '\n')
	case "event":
		e.name = append(e.name[:0], value...)
	}
}

// dispatch ends an event, which needs data to be one. It returns false to stop the stream.
func (e *events) dispatch(item func([]byte) bool) bool {
	goesOn := true
	if len(e.data) > 0 {
		switch data := e.data[:len(e.data)-1]; string(e.name) {
		case "", "message":
			goesOn = item(data)
		case "error":
			e.failure = cmp.Or(messageIn(data), "the stream ended with an error")
		case e.end:
			e.hasEnded = true
		}
	}
	e.name, e.data, e.isHalf = e.name[:0], e.data[:0], false
	return goesOn
}

// outcome returns what a stream whose body has ended came to.
func (e *events) outcome() (transport.Reply, error) {
	switch {
	case e.isHalf || len(e.line) > 0 || !e.hasEnded && e.failure == "":
		return transport.Reply{}, transport.FailedCall(io.ErrUnexpectedEOF, true)
	case e.failure != "":
		return transport.Reply{Code: histogram.Internal, Status: http.StatusOK, Message: e.failure}, nil
	}
	return transport.Reply{Code: histogram.OK, Status: http.StatusOK}, nil
}
