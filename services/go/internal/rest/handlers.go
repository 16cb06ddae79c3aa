package rest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
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

// reply returns what calls an operation and replies.
func reply(call codec.Call, status int, parameters ...string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		response, err := call(r.Context(), func(request proto.Message) error { return decode(r, request, parameters...) })
		if err == nil {
			write(w, r, status, response, jsonReply{true, codec.Data(response), response.GetMessage()})
		}
		return err
	}
}

// sendEvents returns what sends Server-Sent Events (WHATWG HTML, section 9.2). They are JSON, whatever the client
// accepts; the last one says how the stream ended.
func sendEvents(ledger *application.Ledger) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
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
	}
}

// measure counts requests.
func measure(next http.Handler, requests *metrics.Requests) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		response := &response{ResponseWriter: w, operation: metrics.Unknown}
		next.ServeHTTP(response, r)
		if response.status == http.StatusMethodNotAllowed { // by the mux, which has statuses only
			response.err = status.Error(codes.Unimplemented, "")
		} else if response.operation == metrics.Unknown {
			response.err = status.Error(codes.NotFound, "")
		}
		requests.Observe(response.operation, response.err, begun)
	})
}

// response remembers what is counted of a reply.
type response struct {
	http.ResponseWriter
	operation string
	err       error
	status    int
}

// WriteHeader remembers the status.
func (w *response) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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

// decode fills a request from the body, the path and the parameters of the query, all of which are integers.
func decode(r *http.Request, request proto.Message, parameters ...string) error {
	query, _ := url.ParseQuery(r.URL.RawQuery) // which leaves out what isn't escaped as it should be
	unknown := slices.DeleteFunc(slices.Collect(maps.Keys(query)), func(name string) bool {
		return slices.Contains(parameters, name)
	})
	if len(unknown) > 0 {
		return codec.UnknownFields(unknown)
	}
	if err := decodeBody(r, request); err != nil {
		return err
	}
	into := request.ProtoReflect()
	for _, name := range []string{"id", "account_id"} {
		if text := r.PathValue(name); text != "" {
			field := into.Descriptor().Fields().ByTextName(name)
			inBody := into.Get(field).Int()
			if err := codec.SetInteger(into, name, text); err != nil {
				return err
			}
			if inBody != 0 && inBody != into.Get(field).Int() {
				return application.Invalid("Field '%s' must be the one of the path.", name)
			}
		}
	}
	for _, name := range parameters {
		if texts := query[name]; texts != nil {
			if err := codec.SetInteger(into, name, texts[len(texts)-1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeBody(r *http.Request, request proto.Message) error {
	contentType := sentType(r)
	if contentType == "" {
		return errMediaType
	}
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
	if contentType == protobufType {
		return codec.DecodeProtobuf(body, request)
	}
	if create, ok := request.(*pb.CreateUserRequest); ok { // in JSON, the body is the user
		create.User = &pb.User{}
		request = create.User
	}
	return codec.DecodeJSON(body, request)
}

func replyError(w http.ResponseWriter, r *http.Request, err error) {
	code := cmp.Or(statuses[status.Code(err)], http.StatusInternalServerError)
	if err == errMediaType {
		code = http.StatusUnsupportedMediaType
	}
	message := status.Convert(err).Message()
	// All response messages have `message` at the same number.
	write(w, r, code, &pb.EchoResponse{Message: message}, jsonReply{Message: message})
}

// write writes a reply in the encoding that the client accepts.
func write(w http.ResponseWriter, r *http.Request, status int, response proto.Message, inJSON jsonReply) {
	contentType := acceptedType(r)
	var body []byte
	if contentType == protobufType {
		body, _ = proto.Marshal(response)
	} else {
		body, _ = json.Marshal(inJSON)
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // to a client that may have left
}

// sentType returns the media type of the body, JSON by default, or nothing if it is neither of ours.
func sentType(r *http.Request) string {
	mediaType, _, _ := mime.ParseMediaType(cmp.Or(r.Header.Get("Content-Type"), jsonType))
	if mediaType != jsonType && mediaType != protobufType {
		return ""
	}
	return mediaType
}

// acceptedType returns the media type that the client prefers for the reply: any means the one that it sent.
func acceptedType(r *http.Request) string {
	sent := cmp.Or(sentType(r), jsonType)
	best, bestQuality := jsonType, 0.0
	for item := range strings.SplitSeq(cmp.Or(r.Header.Get("Accept"), sent), ",") {
		mediaType, parameters, _ := mime.ParseMediaType(item)
		if mediaType == "*/*" || mediaType == "application/*" {
			mediaType = sent
		}
		quality, err := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		if err == nil && quality > bestQuality && (mediaType == jsonType || mediaType == protobufType) {
			best, bestQuality = mediaType, quality
		}
	}
	return best
}
