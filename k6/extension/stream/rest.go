package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"

	"go.k6.io/k6/lib"
	"wirebench.dev/wireload/event"
)

const (
	eventStream = "text/event-stream"
	// An error's reply is an envelope of a hundred bytes.
	replyBytesMax = 64 << 10
)

// restWire reads Server-Sent Events by net/http, over the transport that k6/http has.
type restWire struct {
	root   string
	events *event.Reader
}

func newREST(given settings) *restWire {
	scheme := "http"
	if given.tls {
		scheme = "https"
	}
	return &restWire{scheme + "://" + given.address, event.NewReader()}
}

func (w *restWire) read(ctx context.Context, state *lib.State, ask request, item func([]byte)) outcome {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.root+ask.target, nil)
	if err != nil {
		return outcome{statusInvalidArgument, err.Error()}
	}
	request.Header.Set("Accept", eventStream)
	ask.setHeaders(request)
	reply, err := state.Transport.RoundTrip(request)
	if err != nil {
		return outcome{statusUnavailable, words(err)}
	}
	defer func() { _ = reply.Body.Close() }()
	if reply.StatusCode != http.StatusOK {
		return refused(reply)
	}
	if kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type")); kind != eventStream {
		return outcome{statusInternal, fmt.Sprintf("the reply is %q and not %s", kind, eventStream)}
	}
	return w.take(reply.Body, item)
}

// take reads events until the body ends, so that its connection can be kept.
func (w *restWire) take(body io.Reader, item func([]byte)) outcome {
	w.events.Reset(body)
	ended := cut
	for {
		name, data, err := w.events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return ended
		case errors.Is(err, io.ErrUnexpectedEOF):
			return cut
		case err != nil:
			return outcome{statusUnavailable, words(err)}
		}
		switch name {
		case "message":
			item(data)
		case "end":
			ended = outcome{}
		case "error":
			ended = outcome{statusInternal, messageIn(data)}
		}
	}
}

func (w *restWire) close() {}

// refused is the outcome of a reply that is no stream.
func refused(reply *http.Response) outcome {
	text, err := io.ReadAll(io.LimitReader(reply.Body, replyBytesMax))
	if err != nil {
		return outcome{statusUnavailable, words(err)}
	}
	code, known := statusOfHTTP[reply.StatusCode]
	if !known {
		code = statusUnknown
	}
	if message := messageIn(text); message != "" {
		return outcome{code, message}
	}
	return outcome{code, fmt.Sprintf("HTTP status %d", reply.StatusCode)}
}

var statusOfHTTP = map[int]int{
	http.StatusBadRequest:            statusInvalidArgument,
	http.StatusUnsupportedMediaType:  statusInvalidArgument,
	http.StatusNotFound:              statusNotFound,
	http.StatusMethodNotAllowed:      statusUnimplemented,
	http.StatusRequestEntityTooLarge: statusResourceExhausted,
	http.StatusInternalServerError:   statusInternal,
	http.StatusServiceUnavailable:    statusUnavailable,
}

func messageIn(text []byte) string {
	var envelope struct{ Message string }
	_ = json.Unmarshal(text, &envelope) // What isn't JSON has no message.
	return envelope.Message
}

// words returns an error without ports, so that the same failure always reads the same.
func words(err error) string {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Err.Error()
	}
	return err.Error()
}
