package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"

	"go.k6.io/k6/lib"
	"wirebench.dev/wireload/event"
	"wirebench.dev/wireload/histogram"
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
	request, err := http.NewRequestWithContext(ctx, ask.method, w.root+ask.target, bytes.NewReader(ask.body))
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
		return readErrorReply(reply)
	}
	if kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type")); kind != eventStream {
		return outcome{statusInternal, fmt.Sprintf("the reply is %q and not %s", kind, eventStream)}
	}
	return w.take(reply.Body, ask.end, item)
}

func (w *restWire) take(body io.Reader, end string, item func([]byte)) outcome {
	w.events.Reset(body)
	err := w.events.ReadItems(end, func(data []byte) error {
		item(data)
		return nil
	})
	var failure event.Failure
	switch {
	case err == nil:
		return outcome{}
	case errors.As(err, &failure):
		return outcome{statusInternal, failure.Error()}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return cut
	}
	return outcome{statusUnavailable, words(err)}
}

func (w *restWire) close() {}

// readErrorReply is the outcome of a reply that is not a stream.
func readErrorReply(reply *http.Response) outcome {
	text, err := io.ReadAll(io.LimitReader(reply.Body, replyBytesMax))
	if err != nil {
		return outcome{statusUnavailable, words(err)}
	}
	code := histogram.CodeOfHTTP(reply.StatusCode)
	if code == histogram.OK {
		return outcome{statusInternal, fmt.Sprintf("HTTP status %d in place of a stream", reply.StatusCode)}
	}
	if message := event.MessageIn(text); message != "" {
		return outcome{code.GRPC(), message}
	}
	return outcome{code.GRPC(), fmt.Sprintf("HTTP status %d", reply.StatusCode)}
}

// words returns an error without ports, so that the same failure always reads the same.
func words(err error) string {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Err.Error()
	}
	return err.Error()
}
