package socket

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
)

const (
	cancelMethod  = "cancel"
	streamMethod  = "ledger.stream_transactions"
	lineOperation = "echo.upper"
)

// encoding is how the bodies of a connection are encoded.
type encoding struct {
	decode func(body []byte, request proto.Message) error
	encode func(response proto.Message) ([]byte, error)
}

var encodings = map[string]encoding{
	jsonPreface:     {codec.DecodeJSON, codec.EncodeJSON},
	protobufPreface: {codec.DecodeProtobuf, encodeData},
}

// encodeData encodes a response without what the frame says: `success` and `message`.
func encodeData(response proto.Message) ([]byte, error) {
	fields := response.ProtoReflect().Descriptor().Fields()
	for _, name := range []protoreflect.Name{"success", "message"} {
		if field := fields.ByName(name); field != nil {
			response.ProtoReflect().Clear(field)
		}
	}
	return proto.Marshal(response)
}

// method decodes a request, calls the application and encodes the response.
type method func(ctx context.Context, with encoding, body []byte) (message string, data []byte, err error)

func methodsOf(app *application.Application) map[string]method {
	return map[string]method{
		"users.create":       unary(app.Users.CreateUser),
		"users.get":          unary(app.Users.GetUser),
		"users.update":       unary(app.Users.UpdateUser),
		"users.delete":       unary(app.Users.DeleteUser),
		"users.list":         unary(app.Users.ListUsers),
		"users.create_batch": unary(app.Users.CreateUserBatch),
		"ledger.get_balance": unary(app.Ledger.GetBalance),
		"echo.echo":          unary(app.Echo.Echo),
		"echo.upper":         unary(app.Echo.Upper),
	}
}

// message is what a pointer to a generated message is.
type message[T any] interface {
	*T
	proto.Message
}

func unary[T any, Request message[T], Response interface {
	proto.Message
	GetMessage() string
}](call func(context.Context, Request) (Response, error)) method {
	return func(ctx context.Context, with encoding, body []byte) (string, []byte, error) {
		request := Request(new(T))
		if err := with.decode(body, request); err != nil {
			return "", nil, err
		}
		response, err := call(ctx, request)
		if err != nil {
			return "", nil, err
		}
		words := response.GetMessage()
		data, err := with.encode(response)
		return words, data, err
	}
}
