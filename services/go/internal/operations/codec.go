package operations

import (
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/pb"
)

// Codec turns a body into a request, and an operation's data into a reply's body.
type Codec interface {
	decode(o *Operation, body []byte, request proto.Message) error
	encode(o *Operation, data any) ([]byte, error)
}

// EnvelopeCodec is a codec whose replies say by themselves how the operation ended, for wires whose framing doesn't.
type EnvelopeCodec interface {
	Codec
	// EncodeFailure returns the body of a reply that says what went wrong.
	EncodeFailure(message string) []byte
}

// JSON is the JSON mapping of the proto messages, with the proto's field names; replies are the bare `data`.
type JSON struct {
	// BodyFields names the operations whose body isn't the request message but one field of it.
	BodyFields map[string]string
}

func (c JSON) decode(o *Operation, body []byte, request proto.Message) error {
	into := request.ProtoReflect()
	if name, ok := c.BodyFields[o.Name]; ok {
		into = into.Mutable(into.Descriptor().Fields().ByName(protoreflect.Name(name))).Message()
	}
	return decodeJSON(body, into)
}

func (JSON) encode(_ *Operation, data any) ([]byte, error) { return json.Marshal(data) }

// JSONEnvelope is as JSON, with `success` and `message` in the body.
type JSONEnvelope struct{ JSON }

type envelope struct {
	Success bool   `json:"success"`
	Data    any    `json:"data"`
	Message string `json:"message"`
}

func (JSONEnvelope) encode(o *Operation, data any) ([]byte, error) {
	return json.Marshal(envelope{true, data, o.message})
}

// EncodeFailure returns the body of a reply that says what went wrong.
func (JSONEnvelope) EncodeFailure(message string) []byte {
	body, err := json.Marshal(envelope{Message: message})
	if err != nil { // messages are UTF-8
		panic(err)
	}
	return body
}

// Protobuf is the request messages, and the response messages with only `data` set.
type Protobuf struct{}

func (Protobuf) decode(_ *Operation, body []byte, request proto.Message) error {
	if err := proto.Unmarshal(body, request); err != nil {
		name := request.ProtoReflect().Descriptor().Name()
		return domain.Errorf(domain.InvalidArgument, "The body is not a valid %s.", name)
	}
	return nil
}

func (Protobuf) encode(o *Operation, data any) ([]byte, error) {
	return proto.Marshal(o.newResponse(data))
}

// ProtobufEnvelope is as Protobuf, with `success` and `message` set too.
type ProtobufEnvelope struct{ Protobuf }

func (ProtobufEnvelope) encode(o *Operation, data any) ([]byte, error) {
	response := o.newResponse(data)
	fields := response.ProtoReflect().Descriptor().Fields()
	response.ProtoReflect().Set(fields.ByName("success"), protoreflect.ValueOfBool(true))
	response.ProtoReflect().Set(fields.ByName("message"), protoreflect.ValueOfString(o.message))
	return proto.Marshal(response)
}

// EncodeFailure returns the body of a reply that says what went wrong: every response has `message` at the same number.
func (ProtobufEnvelope) EncodeFailure(message string) []byte {
	body, err := proto.Marshal(&pb.EchoResponse{Message: message})
	if err != nil {
		panic(err)
	}
	return body
}

// Translation reads one encoding and writes another.
type Translation struct {
	From Codec
	To   EnvelopeCodec
}

func (t Translation) decode(o *Operation, body []byte, request proto.Message) error {
	return t.From.decode(o, body, request)
}

func (t Translation) encode(o *Operation, data any) ([]byte, error) { return t.To.encode(o, data) }

// EncodeFailure returns the body of a reply that says what went wrong.
func (t Translation) EncodeFailure(message string) []byte { return t.To.EncodeFailure(message) }
