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

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/pb"
)

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

func reply(w http.ResponseWriter, r *http.Request, status int, response codec.Response) {
	write(w, r, status, response, jsonReply{true, codec.Data(response), response.GetMessage()})
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
