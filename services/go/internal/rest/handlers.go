package rest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/pb"
)

// handler handles an operation; its error is the reply.
type handler struct {
	operation string
	handle    func(w http.ResponseWriter, r *http.Request) error
}

// ServeHTTP calls the handler, and replies with its error unless it has begun a reply.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	measured := w.(*response) // by measure
	measured.operation, measured.err = h.operation, h.handle(w, r)
	if measured.err != nil && measured.status == 0 {
		replyError(w, r, measured.err)
	}
}

// unary returns the handler of an operation with one reply.
func unary[T any, Request codec.Message[T], Response codec.Response](
	operation string, status int, call func(context.Context, Request) (Response, error), parameters ...string,
) http.Handler {
	return handler{operation, func(w http.ResponseWriter, r *http.Request) error {
		request := Request(new(T))
		if err := decode(r, request, parameters...); err != nil {
			return err
		}
		response, err := call(r.Context(), request)
		if err != nil {
			return err
		}
		reply(w, r, status, response)
		return nil
	}}
}

// events returns a handler that sends Server-Sent Events (WHATWG HTML, section 9.2). They are JSON, whatever the client
// accepts; the last one says how the stream ended.
func events(operation string, ledger *application.Ledger) http.Handler {
	return handler{operation, func(w http.ResponseWriter, r *http.Request) error {
		request := &pb.StreamTransactionsRequest{}
		if err := decode(r, request, "since", "rate_limit", "limit"); err != nil {
			return err
		}
		batches, err := ledger.Transactions(r.Context(), request)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(http.StatusOK)
		if r.Method == http.MethodHead {
			return nil
		}
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{}) // net/http reads on to notice when the client leaves
		buffered := bufio.NewWriter(w)
		for batch, err := range batches {
			if err != nil {
				data, _ := json.Marshal(map[string]string{"message": status.Convert(err).Message()})
				fmt.Fprintf(buffered, "event: error\ndata: %s\n\n", data)
				_ = buffered.Flush() // to a client that may have left
				return err
			}
			for _, transaction := range batch {
				data, _ := json.Marshal(transaction)
				fmt.Fprintf(buffered, "id: %d\ndata: %s\n\n", transaction.Id, data)
			}
			if buffered.Flush() != nil || control.Flush() != nil {
				return application.ErrCancelled
			}
		}
		_, _ = buffered.WriteString("event: end\ndata: {}\n\n")
		return buffered.Flush()
	}}
}

// measure counts requests.
func measure(next http.Handler, requests *metrics.Requests) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		body := &countedBody{ReadCloser: r.Body}
		r.Body = body
		response := &response{ResponseWriter: w, operation: metrics.Unknown}
		next.ServeHTTP(response, r)
		if response.status == http.StatusMethodNotAllowed { // by the mux, which has statuses only
			response.err = status.Error(codes.Unimplemented, "")
		} else if response.operation == metrics.Unknown {
			response.err = status.Error(codes.NotFound, "")
		}
		requests.Observe(response.operation, response.err, begun, body.bytes, response.bytes)
	})
}

type countedBody struct {
	io.ReadCloser
	bytes int
}

// Read counts what is read.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += n
	return n, err
}

// response remembers what is counted of a reply.
type response struct {
	http.ResponseWriter
	operation     string
	err           error
	status, bytes int
}

// WriteHeader remembers the status.
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the body.
func (w *response) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }
