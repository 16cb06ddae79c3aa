// Package codec has the encodings of messages: protobuf, and the contract's JSON mapping of it.
package codec

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/pb"
)

// A longer number isn't called an integer.
const integerDigitsMax = 20

// Response is a response message.
type Response interface {
	proto.Message
	GetMessage() string
}

// Call decodes a request and calls the application.
type Call func(ctx context.Context, decode func(request proto.Message) error) (Response, error)

// Calls returns the operations with one reply, by name.
func Calls(app *application.Application) map[string]Call {
	return map[string]Call{
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

// DecodeJSON fills a message from a JSON object; an empty body is an object without fields.
//
// It is stricter than protojson and encoding/json, as the contract is: names are the proto's to the letter, numbers
// aren't text, and errors name the field (docs/decisions/011-json-in-go.md).
func DecodeJSON(body []byte, into proto.Message) error {
	if len(body) == 0 {
		return nil
	}
	if !utf8.Valid(body) {
		return application.Invalid("The body is not valid JSON: invalid UTF-8.")
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(body, &fields)
	if wrongType := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrongType) || err == nil && fields == nil {
		return application.Invalid("The body must be a JSON object.")
	}
	if err != nil {
		return application.Invalid("The body is not valid JSON: %v.", err)
	}
	return setFields(into.ProtoReflect(), fields)
}

// setFields fills a message. If several fields are wrong it names unknown ones, or else the first in the proto's order.
func setFields(into protoreflect.Message, given map[string]json.RawMessage) error {
	fields := into.Descriptor().Fields()
	var unknown []string
	for name := range given {
		if fields.ByName(protoreflect.Name(name)) == nil {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return UnknownFields(unknown)
	}
	for i := range fields.Len() {
		if value, ok := given[fields.Get(i).TextName()]; ok && string(value) != "null" {
			if err := setField(into, fields.Get(i), value); err != nil {
				return err
			}
		}
	}
	return nil
}

func setField(into protoreflect.Message, field protoreflect.FieldDescriptor, value json.RawMessage) error {
	switch kind := field.Kind(); {
	case field.IsList() && kind == protoreflect.MessageKind:
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return mustBe(field, "a list")
		}
		for i, item := range items {
			if err := setMessage(into.Mutable(field).List().AppendMutable().Message(), item); err != nil {
				return application.InBatch(i, err)
			}
		}
	case field.IsList():
		var texts []*string
		if json.Unmarshal(value, &texts) != nil || slices.Contains(texts, nil) {
			return mustBe(field, "a list of strings")
		}
		for _, text := range texts {
			into.Mutable(field).List().Append(protoreflect.ValueOfString(*text))
		}
	case kind == protoreflect.MessageKind:
		return setMessage(into.Mutable(field).Message(), value)
	case kind == protoreflect.Int32Kind:
		return SetInteger(into, field.TextName(), string(value))
	case kind == protoreflect.StringKind:
		var text string
		if json.Unmarshal(value, &text) != nil {
			return mustBe(field, "a string")
		}
		into.Set(field, protoreflect.ValueOfString(text))
	default: // bytes; the contract has no other kinds
		var text string
		err := json.Unmarshal(value, &text)
		decoded, wrong := base64.StdEncoding.DecodeString(text)
		if err != nil || wrong != nil || strings.ContainsAny(text, "\r\n") { // which base64 skips
			return mustBe(field, "base64 text")
		}
		into.Set(field, protoreflect.ValueOfBytes(decoded))
	}
	return nil
}

func setMessage(into protoreflect.Message, value json.RawMessage) error {
	var fields map[string]json.RawMessage
	if !bytes.HasPrefix(value, []byte("{")) || json.Unmarshal(value, &fields) != nil {
		return application.Invalid("A %s must be an object.", strings.ToLower(string(into.Descriptor().Name())))
	}
	return setFields(into, fields)
}

// SetInteger sets a field of a message from a number in a text. A number that an int32 can't hold becomes the least of
// them, which is out of every field's range: validation then says what the range is.
func SetInteger(into protoreflect.Message, name, text string) error {
	field := into.Descriptor().Fields().ByTextName(name)
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > integerDigitsMax || strings.Trim(digits, "0123456789") != "" {
		return mustBe(field, "an integer")
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		number = math.MinInt32
	}
	into.Set(field, protoreflect.ValueOfInt32(int32(number)))
	return nil
}

// UnknownFields returns the error for fields that a request doesn't have.
func UnknownFields(names []string) error {
	slices.Sort(names)
	return application.Invalid("Unknown fields: %s.", strings.Join(names, ", "))
}

func mustBe(field protoreflect.FieldDescriptor, what string) error {
	return application.Invalid("Field '%s' must be %s.", field.Name(), what)
}
