// Package rest serves the application over REST, on net/http.
package rest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/settings"
)

// Server is an http.Server with its handlers.
type Server struct {
	http       *http.Server
	ledger     *application.Ledger
	operations map[string]codec.Operation
	requests   *metrics.Requests
}

func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	mux := http.NewServeMux()
	s := &Server{ledger: app.Ledger, operations: codec.Operations(app), requests: requests, http: &http.Server{
		Handler: http.MaxBytesHandler(countUnknown(mux, requests), int64(config.BodyBytesMax)),
		// For headers and body; streams lift it. A WriteTimeout would end streams.
		ReadTimeout: config.ReadTimeout,
		IdleTimeout: config.IdleTimeout,
		TLSConfig:   config.TLS,
		Protocols:   &http.Protocols{},
	}}
	// With TLS, HTTP/1.1 alone, as all REST services here; without, HTTP/2 with prior knowledge as well.
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	mux.HandleFunc("GET /api/users", s.reply("users.list", http.StatusOK, "limit", "after_id"))
	mux.HandleFunc("POST /api/users", s.reply("users.create", http.StatusCreated))
	mux.HandleFunc("POST /api/users/batch", s.reply("users.create_batch", http.StatusCreated))
	mux.HandleFunc("GET /api/users/{id}", s.reply("users.get", http.StatusOK))
	mux.HandleFunc("PUT /api/users/{id}", s.reply("users.update", http.StatusOK))
	mux.HandleFunc("DELETE /api/users/{id}", s.reply("users.delete", http.StatusOK))
	mux.HandleFunc("GET /accounts/{account_id}/balance", s.reply("ledger.get_balance", http.StatusOK))
	mux.HandleFunc("GET /transactions/stream", s.stream)
	mux.HandleFunc("POST /echo", s.reply("echo.echo", http.StatusOK))
	mux.HandleFunc("POST /upper", s.reply("echo.upper", http.StatusOK))
	return s
}

func (s *Server) Serve(listener net.Listener) error {
	if s.http.TLSConfig != nil {
		return s.http.ServeTLS(listener, "", "")
	}
	return s.http.Serve(listener)
}

// Shutdown waits for requests in flight, or closes their connections when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

// reply returns a handler that calls an operation and replies.
func (s *Server) reply(operation string, status int, parameters ...string) http.HandlerFunc {
	call := s.operations[operation].Call
	return func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		response, err := call(r.Context(), func(request proto.Message) error { return decode(r, request, parameters...) })
		if err != nil {
			replyError(w, r, err)
		} else {
			write(w, r, status, response)
		}
		s.requests.Observe(operation, err, begun)
	}
}

// stream replies with Server-Sent Events (WHATWG HTML, section 9.2). They are JSON, whatever the client accepts.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	begun, request := time.Now(), &pb.StreamTransactionsRequest{}
	var batches iter.Seq2[[]*pb.Transaction, error]
	err := decode(r, request, "since", "rate_limit", "limit")
	if err == nil {
		batches, err = s.ledger.Transactions(r.Context(), request)
	}
	if err != nil {
		replyError(w, r, err)
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			err = sendEvents(w, batches)
		}
	}
	s.requests.Observe("ledger.stream_transactions", err, begun)
}

// streamBufferBytes is what the socket service has, too, so that neither writes larger pieces.
const streamBufferBytes = 8 * 1024

// sendEvents sends an event for each transaction, and a last one that says how the stream ended.
func sendEvents(w http.ResponseWriter, batches iter.Seq2[[]*pb.Transaction, error]) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // net/http reads on to notice when the client leaves
	buffered := bufio.NewWriterSize(w, streamBufferBytes)
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
}

// countUnknown counts requests that match no route. The mux sends Allow with 405 only.
func countUnknown(mux *http.ServeMux, requests *metrics.Requests) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, code := time.Now(), codes.NotFound
		mux.ServeHTTP(w, r)
		if r.Pattern == "" {
			if w.Header().Get("Allow") != "" {
				code = codes.Unimplemented
			}
			requests.Observe(metrics.Unknown, status.Error(code, ""), begun)
		}
	})
}

const (
	jsonType     = "application/json"
	protobufType = "application/x-protobuf"
)

var errMediaType = application.Invalid("Content-Type must be %s or %s.", jsonType, protobufType)

var statuses = map[codes.Code]int{
	codes.InvalidArgument:   http.StatusBadRequest,
	codes.NotFound:          http.StatusNotFound,
	codes.AlreadyExists:     http.StatusConflict,
	codes.ResourceExhausted: http.StatusRequestEntityTooLarge,
	codes.Unavailable:       http.StatusServiceUnavailable,
}

type jsonReply struct {
	Success bool   `json:"success"`
	Data    any    `json:"data"`
	Message string `json:"message"`
}

// decode fills a request from the body, the query and the path; parameters are those of the query, all integers.
func decode(r *http.Request, request proto.Message, parameters ...string) error {
	if err := decodeBody(r, request); err != nil {
		return err
	}
	into, query := request.ProtoReflect(), r.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(parameters, name) {
			return codec.UnknownField(name)
		}
		if err := codec.SetInteger(into, name, query.Get(name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"id", "account_id"} {
		text, field := r.PathValue(name), into.Descriptor().Fields().ByTextName(name)
		if text == "" {
			continue
		}
		inBody := into.Get(field).Int()
		if err := codec.SetInteger(into, name, text); err != nil {
			return err
		}
		if inBody != 0 && inBody != into.Get(field).Int() {
			return application.Invalid("Field '%s' must be the one of the path.", name)
		}
	}
	return nil
}

func decodeBody(r *http.Request, request proto.Message) error {
	if r.ContentLength == 0 {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return application.Error(codes.ResourceExhausted, "The body is longer than %d bytes.", tooLarge.Limit)
	}
	if err != nil {
		return application.Invalid("The body could not be read.")
	}
	switch sentType(r) {
	case jsonType:
		if create, ok := request.(*pb.CreateUserRequest); ok { // in JSON, the body is the user
			create.User = &pb.User{}
			request = create.User
		}
		return codec.DecodeJSON(body, request)
	case protobufType:
		return codec.DecodeProtobuf(body, request)
	}
	return errMediaType
}

func replyError(w http.ResponseWriter, r *http.Request, err error) {
	code := cmp.Or(statuses[status.Code(err)], http.StatusInternalServerError)
	if errors.Is(err, errMediaType) {
		code = http.StatusUnsupportedMediaType
	}
	// All response messages have `message` at the same number.
	write(w, r, code, &pb.EchoResponse{Message: status.Convert(err).Message()})
}

// write writes a reply in the encoding that the client accepts.
func write(w http.ResponseWriter, r *http.Request, status int, response codec.Response) {
	contentType := replyType(r)
	var body []byte
	if contentType == protobufType {
		body, _ = proto.Marshal(response)
	} else {
		body, _ = json.Marshal(jsonReply{response.GetSuccess(), codec.Data(response), response.GetMessage()})
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // to a client that may have left
}

// sentType returns the media type of the body, JSON by default.
func sentType(r *http.Request) string {
	mediaType, _, _ := mime.ParseMediaType(cmp.Or(r.Header.Get("Content-Type"), jsonType))
	return mediaType
}

// replyType returns the first supported media type that the client accepts, or else that of its request.
func replyType(r *http.Request) string {
	for item := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		if mediaType, _, _ := mime.ParseMediaType(item); mediaType == jsonType || mediaType == protobufType {
			return mediaType
		}
	}
	if sentType(r) == protobufType {
		return protobufType
	}
	return jsonType
}
