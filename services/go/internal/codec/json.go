package codec

import (
	"bytes"
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

	"wirebench.dev/services/internal/failure"
)

// A longer number isn't called an integer.
const integerDigitsMax = 20

// DecodeJSON fills a message from a JSON object; an empty body is an object without fields.
//
// It is stricter than protojson and encoding/json, as the contract is: names are the proto's to the letter, numbers
// aren't text, and errors name the field (docs/decisions/011-json-in-go.md).
func DecodeJSON(body []byte, into proto.Message) error {
	if len(body) == 0 {
		return nil
	}
	if !utf8.Valid(body) {
		return failure.Invalid("The body is not valid JSON: invalid UTF-8.")
	}
	var members map[string]json.RawMessage
	err := json.Unmarshal(body, &members)
	if wrongType := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrongType) || err == nil && members == nil {
		return failure.Invalid("The body must be a JSON object.")
	}
	if err != nil {
		return failure.Invalid("The body is not valid JSON: %v.", err)
	}
	return setFields(into.ProtoReflect(), members)
}

// setFields fills a message. If several fields are wrong it names unknown ones, or else the first in the proto's order.
func setFields(into protoreflect.Message, members map[string]json.RawMessage) error {
	fields := into.Descriptor().Fields()
	var unknown []string
	for name := range members {
		if fields.ByName(protoreflect.Name(name)) == nil {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		slices.Sort(unknown)
		return UnknownFields(unknown)
	}
	for i := range fields.Len() {
		value, ok := members[string(fields.Get(i).Name())]
		if !ok || string(value) == "null" {
			continue
		}
		if err := setField(into, fields.Get(i), value); err != nil {
			return err
		}
	}
	return nil
}

func setField(into protoreflect.Message, field protoreflect.FieldDescriptor, value json.RawMessage) error {
	switch {
	case field.IsList() && field.Message() != nil:
		return setMessages(into.Mutable(field).List(), field, value)
	case field.IsList():
		var texts []*string
		if json.Unmarshal(value, &texts) != nil || slices.Contains(texts, nil) {
			return mustBe(field, "a list of strings")
		}
		for _, text := range texts {
			into.Mutable(field).List().Append(protoreflect.ValueOfString(*text))
		}
	case field.Message() != nil:
		return setMessage(into.Mutable(field).Message(), value)
	case field.Kind() == protoreflect.Int32Kind:
		return SetInteger(into, field.Name(), string(value))
	case field.Kind() == protoreflect.StringKind:
		var text string
		if json.Unmarshal(value, &text) != nil {
			return mustBe(field, "a string")
		}
		into.Set(field, protoreflect.ValueOfString(text))
	default: // bytes; the contract has no other kinds
		var text string
		if json.Unmarshal(value, &text) != nil || strings.ContainsAny(text, "\r\n") { // which base64 would skip
			return mustBe(field, "base64 text")
		}
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return mustBe(field, "base64 text")
		}
		into.Set(field, protoreflect.ValueOfBytes(decoded))
	}
	return nil
}

func setMessages(into protoreflect.List, field protoreflect.FieldDescriptor, value json.RawMessage) error {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		return mustBe(field, "a list")
	}
	for i, item := range items {
		if err := setMessage(into.AppendMutable().Message(), item); err != nil {
			return failure.InBatch(string(field.Message().Name()), i, err)
		}
	}
	return nil
}

func setMessage(into protoreflect.Message, value json.RawMessage) error {
	if !bytes.HasPrefix(value, []byte("{")) {
		return failure.Invalid("A %s must be an object.", strings.ToLower(string(into.Descriptor().Name())))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return err
	}
	return setFields(into, members)
}

// SetInteger sets a field of a message from a number in a text. A number that an int32 can't hold becomes the least of
// them, which is out of every field's range: validation then says what the range is.
func SetInteger(into protoreflect.Message, name protoreflect.Name, text string) error {
	field := into.Descriptor().Fields().ByName(name)
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
	return failure.Invalid("Unknown fields: %s.", strings.Join(names, ", "))
}

func mustBe(field protoreflect.FieldDescriptor, what string) error {
	return failure.Invalid("Field '%s' must be %s.", field.Name(), what)
}
