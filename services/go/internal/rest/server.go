// Package rest serves the application over REST, on net/http.
package rest

import (
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
	"net/url"
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
	http     *http.Server
	ledger   *application.Ledger
	requests *metrics.Requests
}

func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	mux := http.NewServeMux()
	s := &Server{ledger: app.Ledger, requests: requests, http: &http.Server{
		Handler: http.MaxBytesHandler(mux, application.BodyBytesMax),
		// For headers and body; streams lift it. A WriteTimeout would end streams.
		ReadTimeout: config.ReadTimeout,
		IdleTimeout: config.IdleTimeout,
		TLSConfig:   config.TLS,
		Protocols:   &http.Protocols{},
	}}
	// With TLS, HTTP/1.1 alone, as all REST services here; without, HTTP/2 with prior knowledge as well.
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	for name, operation := range codec.Operations(app) {
		if operation.Call == nil {
			mux.HandleFunc(operation.Route, s.stream)
		} else {
			mux.HandleFunc(operation.Route, s.reply(name, operation))
		}
	}
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
func (s *Server) reply(name string, operation codec.Operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		response, err := operation.Call(r.Context(), func(request proto.Message) error { return decode(r, request) })
		if err != nil {
			replyError(w, r, err)
		} else {
			write(w, r, operation.Status, response)
		}
		s.requests.Observe(name, err, begun)
	}
}

// stream replies with Server-Sent Events (WHATWG HTML, section 9.2). They are JSON, whatever the client accepts.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	begun, request := time.Now(), &pb.StreamTransactionsRequest{}
	var batches iter.Seq2[[]*pb.Transaction, error]
	err := decode(r, request)
	if err == nil {
		batches, err = s.ledger.Transactions(r.Context(), request)
	}
	if err != nil {
		replyError(w, r, err)
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
		w.WriteHeader(http.StatusOK)
		err = sendEvents(w, batches)
	}
	s.requests.Observe(codec.Stream, err, begun)
}

// sendEvents sends an event for each transaction, and a last one that says how the stream ended.
func sendEvents(w http.ResponseWriter, batches iter.Seq2[[]*pb.Transaction, error]) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // net/http reads on to notice when the client leaves
	for batch, err := range batches {
		if err != nil {
			data, _ := json.Marshal(map[string]string{"message": status.Convert(err).Message()})
			fmt.Fprintf(w, "event: error\ndata: %s\n\n", data)
			return err
		}
		for _, transaction := range batch {
			data, _ := json.Marshal(transaction)
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", transaction.Id, data)
		}
		if control.Flush() != nil {
			return application.ErrCancelled
		}
	}
	_, err := io.WriteString(w, "event: end\ndata: {}\n\n")
	return err
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

// decode fills a request from the body, the query and the path; the fields of the last two are integers.
func decode(r *http.Request, request proto.Message) error {
	if err := decodeBody(r, request); err != nil {
		return err
	}
	into := request.ProtoReflect()
	query, err := url.ParseQuery(r.URL.RawQuery)
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		query, err = nil, nil // the body has the fields
	}
	if err != nil {
		return application.Invalid("The query is not valid.")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if into.Descriptor().Fields().ByTextName(name) == nil {
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
		given := into.Get(field).Int() // in the body or the query
		if err := codec.SetInteger(into, name, text); err != nil {
			return err
		}
		if given != 0 && given != into.Get(field).Int() {
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
