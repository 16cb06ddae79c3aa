package rest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

const eventStream = "text/event-stream"

// reply is what has come of a reply.
type reply struct {
	// expected is the status of a success; 0 is any that says so.
	expected int
	// item gets the items of a stream; nil for other replies.
	item        func([]byte) bool
	status      int
	contentType string
	body        transport.Buffer
	events
}

func (r *reply) begin(item func([]byte) bool) {
	r.item, r.status, r.contentType, r.body = item, 0, "", r.body[:0]
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
	}
}

// TakeData takes a part of the body.
func (r *reply) TakeData(part []byte) error {
	if r.isStream() {
		return r.takeItems(part)
	}
	return r.body.Append(part)
}

func (r *reply) isStream() bool { return r.item != nil && r.status == http.StatusOK }

// takeItems takes a part of a stream.
func (r *reply) takeItems(part []byte) error {
	if kind, _, _ := strings.Cut(r.contentType, ";"); !strings.EqualFold(strings.TrimSpace(kind), eventStream) {
		return transport.NewGarbage("the reply is %q and not %s", kind, eventStream)
	}
	return r.events.take(part, r.item)
}

// outcome returns what a reply that has come whole came to.
func (r *reply) outcome() (transport.Reply, error) {
	if r.status == 0 {
		return transport.Reply{}, transport.NewGarbage("the reply has no status")
	}
	if r.isStream() {
		if err := r.takeItems(nil); err != nil {
			return transport.Reply{}, err
		}
		return r.events.outcome()
	}
	made := transport.Reply{Code: histogram.CodeOfHTTP(r.status), Status: r.status, Body: r.body}
	if r.status == r.expected {
		made.Code = histogram.OK
	}
	switch {
	case made.Code == histogram.OK && r.item != nil:
		return transport.Reply{}, transport.NewGarbage("HTTP status %d in place of a stream", r.status)
	case made.Code == histogram.OK:
		return made, nil
	case r.item != nil:
		made.Message = messageIn(r.body)
	}
	made.Message = cmp.Or(made.Message, "HTTP status "+strconv.Itoa(r.status))
	return made, nil
}

// messageIn returns the message in the JSON of an error; what isn't JSON has none.
func messageIn(text []byte) string {
	var envelope struct{ Message string }
	_ = json.Unmarshal(text, &envelope)
	return envelope.Message
}
