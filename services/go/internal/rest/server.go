// Package rest is the application behind REST, on net/http.
package rest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/platform"
)

// Defaults are those of the transport.
var Defaults = platform.Defaults{
	Transport: "rest", Port: 5000, Runtime: "net-http", Protocols: []string{"http/1.1"},
}

var statuses = map[domain.Code]int{
	domain.InvalidArgument:   http.StatusBadRequest,
	domain.NotFound:          http.StatusNotFound,
	domain.AlreadyExists:     http.StatusConflict,
	domain.ResourceExhausted: http.StatusRequestEntityTooLarge,
	domain.Unimplemented:     http.StatusMethodNotAllowed,
	domain.DeadlineExceeded:  http.StatusGatewayTimeout,
	domain.Unavailable:       http.StatusServiceUnavailable,
	domain.Internal:          http.StatusInternalServerError,
}

// A request with a method that nobody has defined is malformed.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

// Server answers HTTP/1.1.
type Server struct {
	worker    *platform.Worker
	endpoints *endpoints
	http      *http.Server

	mu sync.Mutex
	// Connections on which no request has come yet.
	silent map[net.Conn]struct{}
}

// New returns a server; it serves nothing yet.
func New(worker *platform.Worker) platform.Server {
	s := &Server{worker: worker, endpoints: newEndpoints(routes), silent: make(map[net.Conn]struct{})}
	s.http = &http.Server{
		Handler:                      http.HandlerFunc(s.serve),
		MaxHeaderBytes:               headBytesMax - netHTTPSlopBytes,
		ReadTimeout:                  worker.Settings.ReadTimeout,
		IdleTimeout:                  worker.Settings.IdleTimeout,
		DisableGeneralOptionsHandler: true,
		ConnState:                    s.note,
		ConnContext:                  withConnection,
	}
	return s
}

// Serve takes connections until Shutdown is called.
func (s *Server) Serve(listener net.Listener) error {
	err := s.http.Serve(&contractListener{listener, s.worker.Settings})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown finishes what is in flight. Clients that have not sent a request yet have a moment to do it.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	for connection := range s.silent {
		_ = connection.SetReadDeadline(time.Now().Add(silentGrace))
	}
	s.mu.Unlock()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

func (s *Server) note(connection net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateNew {
		s.silent[connection] = struct{}{}
	} else {
		delete(s.silent, connection)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r, s.worker.Settings.BodyBytesMax)
	if err != nil { // the client has left in the middle, or took too long: the connection has told it
		panic(http.ErrAbortHandler)
	}
	connectionOf(r.Context()).requestIsRead()
	begun := s.worker.Recorder.Started()
	exchange := negotiate(r.Header.Get("Content-Type"), r.Header.Get("Accept"))
	result := s.answer(r, exchange, body)
	if result.stream != nil && r.Method != http.MethodHead {
		outcome, sentBytes := s.sendEvents(w, r, result.stream)
		s.worker.Recorder.Finished(result.operation, outcome.Code, begun, len(body), sentBytes)
		return
	}
	reply := result.outcome.Body
	if result.outcome.Code != domain.OK {
		reply = exchange.codec.EncodeFailure(result.outcome.Message)
	}
	s.worker.Recorder.Finished(result.operation, result.outcome.Code, begun, len(body), len(reply))
	header := w.Header()
	header.Set("Content-Type", cmp.Or(result.contentType, exchange.contentType))
	header.Set("Content-Length", strconv.Itoa(len(reply)))
	if result.allow != "" {
		header.Set("Allow", result.allow)
	}
	w.WriteHeader(result.status)
	_, _ = w.Write(reply) // a client that has hung up
}

// result is a reply before it is encoded, and what it is counted as.
type result struct {
	operation string
	status    int
	outcome   operations.Outcome
	// The value of the header Allow, if it is due.
	allow string
	// Of the reply, if it isn't the one that was negotiated.
	contentType string
	// What is to be sent bit by bit, if nothing was refused.
	stream *operations.Stream
}

func (s *Server) answer(r *http.Request, exchange exchange, body []byte) result {
	if !slices.Contains(methods, r.Method) {
		return refused(platform.Unknown, http.StatusBadRequest, domain.Errorf(domain.InvalidArgument, malformed))
	}
	endpoint, given := s.endpoints.find(r.URL.Path)
	if endpoint == nil {
		err := domain.Errorf(domain.NotFound, "No such endpoint: %s %s.", r.Method, r.URL.Path)
		return refused(platform.Unknown, http.StatusNotFound, err)
	}
	route, ok := endpoint.routes[r.Method]
	if !ok {
		err := domain.Errorf(domain.Unimplemented, "Method %s is not allowed for %s.", r.Method, endpoint.path)
		refusal := refused(platform.Unknown, http.StatusMethodNotAllowed, err)
		refusal.allow = endpoint.allow
		return refusal
	}
	if !exchange.readable {
		err := domain.Errorf(domain.InvalidArgument, "Content-Type must be %s or %s.", jsonType, protobufType)
		return refused(route.operation, http.StatusUnsupportedMediaType, err)
	}
	if limit := s.worker.Settings.BodyBytesMax; len(body) > limit {
		err := domain.Errorf(domain.ResourceExhausted, "The body is longer than %d bytes.", limit)
		return refused(route.operation, http.StatusRequestEntityTooLarge, err)
	}
	parameters, err := route.parameters(r.URL.RawQuery)
	if err != nil {
		return refused(route.operation, http.StatusBadRequest, err)
	}
	given = append(given, parameters...)
	if route.operation == operations.StreamTransactions.Name {
		return s.open(exchange, body, given)
	}
	outcome := operations.ByName[route.operation].Run(s.worker.Application, exchange.codec, body, given...)
	status := http.StatusOK
	if outcome.Code != domain.OK {
		status = statuses[outcome.Code]
	} else if route.status != 0 {
		status = route.status
	}
	return result{operation: route.operation, status: status, outcome: outcome}
}

func refused(operation string, status int, err *domain.Error) result {
	return result{operation: operation, status: status, outcome: operations.Refusal(err)}
}

// readBody returns a body, or so much of it as shows that it is longer than the limit.
func readBody(r *http.Request, bytesMax int) ([]byte, error) {
	switch {
	case r.ContentLength == 0:
		return nil, nil
	case r.ContentLength < 0: // in chunks
		return io.ReadAll(io.LimitReader(r.Body, int64(bytesMax)+1))
	default:
		body := make([]byte, min(r.ContentLength, int64(bytesMax)+1))
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
}
