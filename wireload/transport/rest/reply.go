package rest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

const (
	gzipEncoding = "gzip"
	eventStream  = "text/event-stream"
	// So much of a stream is read at once.
	partBytes = 32 << 10
)

// newReply returns a reply; a status that is expected is a success, whatever it is.
func newReply(status, expected int, body []byte) transport.Reply {
	made := transport.Reply{Code: histogram.CodeOfHTTP(status), Status: status, Body: body}
	if status == expected {
		made.Code = histogram.OK
	}
	if made.Code != histogram.OK {
		made.Message = "HTTP status " + strconv.Itoa(status)
	}
	return made
}

// reply is what has come of a reply that is read in parts: any over HTTP/2, and a stream of Server-Sent Events.
type reply struct {
	expected int
	// item gets the items of a stream; nil for other replies.
	item        func([]byte) bool
	status      int
	contentType string
	isGzipped   bool
	body        []byte
	events
}

func (r *reply) begin(item func([]byte) bool) {
	r.item, r.status, r.contentType, r.isGzipped, r.body = item, 0, "", false, r.body[:0]
	r.events.begin()
}

// TakeField takes a field of the headers.
func (r *reply) TakeField(field hpack.HeaderField) {
	switch field.Name {
	case ":status":
		if status, err := strconv.Atoi(field.Value); err == nil && status >= 200 { // Others are informational.
			r.status = status
		}
	case "content-type":
		r.contentType = field.Value
	case "content-encoding":
		r.isGzipped = field.Value == gzipEncoding
	}
}

// TakeData takes a part of the body.
func (r *reply) TakeData(part []byte) error {
	if r.isStream() {
		if err := r.checkType(); err != nil {
			return err
		}
		return r.events.take(part, r.item)
	}
	if len(r.body)+len(part) > transport.ReplyBytesMax {
		return transport.NewGarbage("the reply is longer than %d bytes", transport.ReplyBytesMax)
	}
	r.body = append(r.body, part...)
	return nil
}

func (r *reply) isStream() bool { return r.item != nil && r.status == http.StatusOK }

func (r *reply) checkType() error {
	if kind, _, _ := strings.Cut(r.contentType, ";"); !strings.EqualFold(strings.TrimSpace(kind), eventStream) {
		return transport.NewGarbage("the reply is %q and not %s", kind, eventStream)
	}
	return nil
}

// outcome returns what a reply that has come whole came to.
func (r *reply) outcome() (transport.Reply, error) {
	if r.status == 0 {
		return transport.Reply{}, transport.NewGarbage("the reply has no status")
	}
	if r.isStream() {
		if err := r.checkType(); err != nil {
			return transport.Reply{}, err
		}
		return r.events.outcome()
	}
	made := newReply(r.status, r.expected, r.body)
	made.IsGzipped = r.isGzipped
	if r.item == nil {
		return made, nil
	}
	if made.Code == histogram.OK {
		return transport.Reply{}, transport.NewGarbage("HTTP status %d in place of a stream", r.status)
	}
	if message := messageIn(r.body); message != "" {
		made.Message = message
	}
	return made, nil
}

// messageIn returns the message in the JSON of an error; what isn't JSON has none.
func messageIn(text []byte) string {
	var envelope struct{ Message string }
	_ = json.Unmarshal(text, &envelope)
	return envelope.Message
}
