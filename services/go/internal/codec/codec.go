// Package codec has the encodings of messages: protobuf, and the contract's JSON mapping of it.
package codec

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/pb"
)

type Response interface {
	proto.Message
	GetSuccess() bool
	GetMessage() string
}

// Call decodes a request and calls the application.
type Call func(ctx context.Context, decode func(request proto.Message) error) (Response, error)

// Operation is one of the application. Call is nil if it replies with a stream, which each transport does in its own way.
type Operation struct {
	Route      string // of REST: method and path
	Status     int    // of REST, if it succeeds
	GRPCMethod string
	Call       Call
}

// Operations returns all operations by name.
func Operations(app *application.Application) map[string]Operation {
	users, ledger, echo := app.Users, app.Ledger, app.Echo
	return map[string]Operation{
		"users.create":       {"POST /api/users", 201, pb.UserService_CreateUser_FullMethodName, unary(users.CreateUser)},
		"users.get":          {"GET /api/users/{id}", 200, pb.UserService_GetUser_FullMethodName, unary(users.GetUser)},
		"users.update":       {"PUT /api/users/{id}", 200, pb.UserService_UpdateUser_FullMethodName, unary(users.UpdateUser)},
		"users.delete":       {"DELETE /api/users/{id}", 200, pb.UserService_DeleteUser_FullMethodName, unary(users.DeleteUser)},
		"users.list":         {"GET /api/users", 200, pb.UserService_ListUsers_FullMethodName, unary(users.ListUsers)},
		"users.create_batch": {"POST /api/users/batch", 201, pb.UserService_CreateUserBatch_FullMethodName, unary(users.CreateUserBatch)},
		"ledger.get_balance": {
			"GET /accounts/{account_id}/balance", 200, pb.LedgerService_GetBalance_FullMethodName, unary(ledger.GetBalance),
		},
		Stream:       {"GET /transactions/stream", 200, pb.LedgerService_StreamTransactions_FullMethodName, nil},
		"echo.echo":  {"POST /echo", 200, pb.EchoService_Echo_FullMethodName, unary(echo.Echo)},
		"echo.upper": {"POST /upper", 200, pb.EchoService_Upper_FullMethodName, unary(echo.Upper)},
	}
}

// Stream is the operation that replies with a stream.
const Stream = "ledger.stream_transactions"

func unary[T any, Request interface {
	*T
	proto.Message
}, R Response](call func(context.Context, Request) (R, error)) Call {
	return func(ctx context.Context, decode func(proto.Message) error) (Response, error) {
		request := Request(new(T))
		if err := decode(request); err != nil {
			return nil, err
		}
		return call(ctx, request)
	}
}

// DecodeProtobuf fills a request from its wire format.
func DecodeProtobuf(body []byte, request proto.Message) error {
	if proto.Unmarshal(body, request) != nil {
		return application.Invalid("The body is not a valid %s.", request.ProtoReflect().Descriptor().Name())
	}
	return nil
}

// user replaces the one field whose generated JSON tag isn't the contract's: an empty avatar isn't left out.
type user struct {
	*pb.User
	Avatar []byte `json:"avatar,omitzero"`
}

// Data returns the `data` of a response for encoding/json: generated messages have the proto's names as JSON tags.
func Data(response proto.Message) any {
	switch r := response.(type) {
	case interface{ GetData() *pb.User }:
		return user{r.GetData(), r.GetData().GetAvatar()}
	case interface{ GetData() []*pb.User }:
		users := make([]user, len(r.GetData()))
		for i, each := range r.GetData() {
			users[i] = user{each, each.GetAvatar()}
		}
		return users
	}
	message := response.ProtoReflect()
	return message.Get(message.Descriptor().Fields().ByName("data")).Message().Interface()
}

// DecodeJSON fills a message from a JSON object; an empty body is an object without fields. Its errors name the field
// (docs/decisions.md).
func DecodeJSON(body []byte, into proto.Message) error {
	if len(body) == 0 {
		return nil
	}
	isUnicode := utf8.Valid(body)
	if bytes.Contains(body, []byte(`\u`)) { // encoding/json replaces half a surrogate pair
		isUnicode = isUnicode && !bytes.ContainsRune(escapes.ReplaceAll(body, nil), '\\')
	}
	if !isUnicode {
		return application.Invalid("The body is not valid JSON: it is not valid Unicode.")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil && decoder.More() {
		err = errors.New("data after the object")
	}
	if err == nil && string(bytes.TrimSpace(body)) != "null" {
		var value any
		if !isStrict(body) {
			_ = json.Unmarshal(body, &value) // which has been decoded before
		}
		return rejectLenient(value)
	}
	wrongType, wrongBase64 := (*json.UnmarshalTypeError)(nil), base64.CorruptInputError(0)
	switch {
	case err == nil, errors.As(err, &wrongType) && wrongType.Field == "":
		return application.Invalid("The body must be a JSON object.")
	case wrongType != nil:
		return describeWrongType(wrongType, into.ProtoReflect())
	case errors.As(err, &wrongBase64): // which doesn't name the field; a message has one at most
		name := "avatar"
		if _, ok := into.(*pb.EchoRequest); ok {
			name = "payload"
		}
		return mustBe(name, "base64 text")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok { // encoding/json has no type for it
		return UnknownField(strings.Trim(name, `"`))
	}
	return application.Invalid("The body is not valid JSON: %v.", err)
}

// Escapes of whole characters: a backslash beside them begins half a surrogate pair.
var escapes = regexp.MustCompile(`(?i)\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|ud[0-7]|u[^d]|[^u])`)

// What names of fields are made of: encoding/json accepts them in any case.
const letters = "abcdefghijklmnopqrstuvwxyz_"

// isStrict returns whether encoding/json can't have accepted more than the contract does; it costs little.
func isStrict(body []byte) bool {
	for before := range bytes.SplitSeq(body, []byte(":")) {
		name, isName := bytes.CutSuffix(bytes.TrimRight(before, " \t\r\n"), []byte(`"`))
		field := string(name[bytes.LastIndexByte(name, '"')+1:])
		if isName && (strings.Trim(field, letters) != "" || slices.Contains([]string{"avatar", "payload", "tags"}, field)) {
			return false
		}
	}
	return true
}

// rejectLenient returns an error for names in another case, bytes from an array of numbers, and null as a text.
func rejectLenient(value any) (err error) {
	fields, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		items, isList := fields[name].([]any)
		if strings.Trim(name, letters) != "" {
			return UnknownField(name)
		}
		if isList && otherTypes[name] == "base64 text" || name == "tags" && slices.Contains(items, nil) {
			return mustBe(name, otherTypes[name])
		}
		for _, each := range append(items, fields[name]) {
			err = cmp.Or(err, rejectLenient(each))
		}
	}
	return err
}

// What fields hold, other than numbers and strings.
var otherTypes = map[string]string{
	"tags": "a list of strings", "users": "a list of users", "avatar": "base64 text", "payload": "base64 text",
}

func describeWrongType(wrong *json.UnmarshalTypeError, into protoreflect.Message) error {
	name := wrong.Field[strings.LastIndex(wrong.Field, ".")+1:]
	number := strings.TrimPrefix(wrong.Value, "number ")
	switch {
	case name == "user":
		return application.Invalid("A user must be an object.")
	case otherTypes[name] != "":
		return mustBe(name, otherTypes[name])
	case wrong.Type.Kind() != reflect.Int32:
		return mustBe(name, "a string")
	case name != wrong.Field && integer.MatchString(number): // the id of a user in the message
		return application.ValidateID(math.MinInt32)
	}
	return SetInteger(into, name, number)
}

// A longer number isn't called an integer.
var integer = regexp.MustCompile(`^-?[0-9]{1,20}$`)

// SetInteger sets a field of a message from a number in a text. A number that an int32 can't hold becomes the least of
// them, which is out of every field's range: validation then says what the range is.
func SetInteger(into protoreflect.Message, name, text string) error {
	if !integer.MatchString(text) {
		return mustBe(name, "an integer")
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		number = math.MinInt32
	}
	into.Set(into.Descriptor().Fields().ByTextName(name), protoreflect.ValueOfInt32(int32(number)))
	return nil
}

// UnknownField returns the error for a field that a request doesn't have.
func UnknownField(name string) error { return application.Invalid("Unknown fields: %s.", name) }

func mustBe(name, what string) error {
	return application.Invalid("Field '%s' must be %s.", name, what)
}
