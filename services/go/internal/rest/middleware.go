package rest

import (
	"io"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"wirebench.dev/services/internal/metrics"
)

// measure counts requests.
func measure(next http.Handler, requests *metrics.Requests) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		body := &countedBody{ReadCloser: r.Body}
		r.Body = body
		response := &response{ResponseWriter: w, operation: metrics.Unknown}
		next.ServeHTTP(response, r)
		requests.Observe(response.operation, response.outcome(), begun, body.bytes, response.bytes)
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
	status, bytes int
	operation     string
	err           error
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

// outcome returns the handler's error; the mux has only statuses.
func (w *response) outcome() error {
	switch {
	case w.operation != metrics.Unknown:
		return w.err
	case w.status == http.StatusMethodNotAllowed:
		return status.Error(codes.Unimplemented, "")
	default:
		return status.Error(codes.NotFound, "")
	}
}
