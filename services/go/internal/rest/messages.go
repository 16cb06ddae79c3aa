package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
)

const (
	jsonType     = "application/json"
	protobufType = "application/x-protobuf"
)

var (
	errMediaType = failure.Invalid("Content-Type must be %s or %s.", jsonType, protobufType)
	errUnread    = failure.Invalid("The body could not be read.")
)

var statuses = map[codes.Code]int{
	codes.InvalidArgument:   http.StatusBadRequest,
	codes.NotFound:          http.StatusNotFound,
	codes.AlreadyExists:     http.StatusConflict,
	codes.ResourceExhausted: http.StatusRequestEntityTooLarge,
	codes.DeadlineExceeded:  http.StatusGatewayTimeout,
	codes.Unavailable:       http.StatusServiceUnavailable,
}

// envelope is every JSON reply.
type envelope struct {
	Success bool   `json:"success"`
	Data    any    `json:"data"`
	Message string `json:"message"`
}

// decode fills a request from the body, the path and the parameters of the query, all of which are integers.
func decode(r *http.Request, request proto.Message, parameters ...string) error {
	contentType := sentType(r)
	if contentType == "" {
		return errMediaType
	}
	query, err := parseQuery(r.URL.RawQuery, parameters)
	if err != nil {
		return err
	}
	if err := decodeBody(r, contentType, request); err != nil {
		return err
	}
	into := request.ProtoReflect()
	for _, name := range []protoreflect.Name{"id", "account_id"} {
		if text := r.PathValue(string(name)); text != "" {
			inBody := into.Get(into.Descriptor().Fields().ByName(name)).Int()
			if err := codec.SetInteger(into, name, text); err != nil {
				return err
			}
			if inBody != 0 && inBody != into.Get(into.Descriptor().Fields().ByName(name)).Int() {
				return failure.Invalid("Field '%s' must be the one of the path.", name)
			}
		}
	}
	for _, name := range parameters {
		if texts, ok := query[name]; ok {
			if err := codec.SetInteger(into, protoreflect.Name(name), texts[len(texts)-1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func parseQuery(text string, parameters []string) (url.Values, error) {
	query, _ := url.ParseQuery(text) // which leaves out what isn't escaped as it should be
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(query)), func(name string) bool {
		return slices.Contains(parameters, name)
	})
	if len(unknown) > 0 {
		return nil, codec.UnknownFields(unknown)
	}
	return query, nil
}

func decodeBody(r *http.Request, contentType string, request proto.Message) error {
	if r.ContentLength == 0 {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return failure.New(codes.ResourceExhausted, "The body is longer than %d bytes.", tooLarge.Limit)
	}
	if err != nil {
		return errUnread
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

// reply writes the response, unless there is an error, which it returns.
func reply(w http.ResponseWriter, r *http.Request, status int, response proto.Message, err error) error {
	if err != nil {
		return err
	}
	contentType := acceptedType(r)
	var body []byte
	if contentType == protobufType {
		body, err = proto.Marshal(response)
	} else {
		message := response.(interface{ GetMessage() string }).GetMessage()
		body, err = json.Marshal(envelope{true, codec.Data(response), message})
	}
	if err == nil {
		write(w, status, contentType, body)
	}
	return err
}

// replyError writes an error in the envelope.
func replyError(w http.ResponseWriter, r *http.Request, err error) {
	code, ok := statuses[status.Code(err)]
	if !ok {
		code = http.StatusInternalServerError
	}
	if err == errMediaType {
		code = http.StatusUnsupportedMediaType
	}
	contentType, message := acceptedType(r), status.Convert(err).Message()
	var body []byte
	if contentType == protobufType {
		body, _ = proto.Marshal(&pb.EchoResponse{Message: message}) // all responses have it at the same number
	} else {
		body, _ = json.Marshal(envelope{Message: message})
	}
	write(w, code, contentType, body)
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has hung up
}

// sentType returns the media type of the body, JSON by default, or nothing if it is neither of ours.
func sentType(r *http.Request) string {
	switch mediaType, _, _ := mime.ParseMediaType(cmp.Or(r.Header.Get("Content-Type"), jsonType)); mediaType {
	case jsonType, protobufType:
		return mediaType
	default:
		return ""
	}
}

// acceptedType returns the media type that the client prefers for the reply: any means the one that it sent.
func acceptedType(r *http.Request) string {
	sent, accepted := cmp.Or(sentType(r), jsonType), r.Header.Get("Accept")
	if accepted == "" {
		return sent
	}
	best, bestQuality := jsonType, 0.0
	for item := range strings.SplitSeq(accepted, ",") {
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
