package socket

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/proto"

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

// By preface. In protobuf, responses leave out what the frame says: `success` and `message`.
var encodings = map[string]encoding{
	"WB1J": {codec.DecodeJSON, func(response proto.Message) ([]byte, error) { return json.Marshal(codec.Data(response)) }},
	"WB1P": {codec.DecodeProtobuf, func(response proto.Message) ([]byte, error) {
		for _, name := range []string{"success", "message"} {
			if field := response.ProtoReflect().Descriptor().Fields().ByTextName(name); field != nil {
				response.ProtoReflect().Clear(field)
			}
		}
		return proto.Marshal(response)
	}},
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

func unary[T any, Request codec.Message[T], Response codec.Response](
	call func(context.Context, Request) (Response, error),
) method {
	return func(ctx context.Context, with encoding, body []byte) (string, []byte, error) {
		request := Request(new(T))
		if err := with.decode(body, request); err != nil {
			return "", nil, err
		}
		response, err := call(ctx, request)
		if err != nil {
			return "", nil, err
		}
		message := response.GetMessage()
		data, err := with.encode(response)
		return message, data, err
	}
}
