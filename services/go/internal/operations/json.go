package operations

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wirebench.dev/services/internal/domain"
)

// No number that clients write as an integer has more digits; what is longer is none.
const integerDigitsMax = 20

// decodeJSON fills a message from the JSON object that a body holds; an empty body is an object without fields.
//
// It is stricter than protojson: names are the proto's, numbers aren't text, and errors are in the words of the
// contract. What isn't JSON is refused first, then what has wrong fields.
func decodeJSON(body []byte, into protoreflect.Message) error {
	if len(body) == 0 {
		return nil
	}
	r := reader{jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))}
	isObject := r.PeekKind() == '{'
	var wrong *domain.Error
	var err error
	if isObject {
		wrong, err = r.object(into)
	} else {
		err = r.SkipValue()
	}
	if err == nil {
		err = r.end()
	}
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "jsontext: ")
		return domain.Errorf(domain.InvalidArgument, "The body is not valid JSON: %s.", reason)
	}
	if !isObject {
		return domain.Errorf(domain.InvalidArgument, "The body must be a JSON object.")
	}
	if wrong != nil {
		return wrong
	}
	return nil
}

// reader fills messages. Its methods return what is wrong with the fields, and an error for what isn't JSON; of the
// first they go on to look for the second.
type reader struct{ *jsontext.Decoder }

func (r reader) end() error {
	if _, err := r.ReadToken(); err == nil {
		return errors.New("there is something behind the value")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// object reads the fields of a message. Of several that are wrong it names unknown ones, or else the first one in the order
// of the proto, as every service does.
func (r reader) object(into protoreflect.Message) (*domain.Error, error) {
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	var unknown []string
	var wrong map[protoreflect.FieldNumber]*domain.Error
	for r.PeekKind() == '"' {
		name, err := r.ReadToken()
		if err != nil {
			return nil, err
		}
		field := into.Descriptor().Fields().ByName(protoreflect.Name(name.String()))
		if field == nil {
			unknown = append(unknown, name.String())
			if err := r.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		fieldWrong, err := r.field(into, field)
		if err != nil {
			return nil, err
		}
		if fieldWrong == nil {
			delete(wrong, field.Number()) // of names that stand twice the last one counts
			continue
		}
		if wrong == nil {
			wrong = make(map[protoreflect.FieldNumber]*domain.Error)
		}
		wrong[field.Number()] = fieldWrong
	}
	_, err := r.ReadToken()
	switch {
	case err != nil || unknown == nil && len(wrong) == 0:
		return nil, err
	case unknown != nil:
		return domain.Errorf(domain.InvalidArgument, "Unknown fields: %s.", strings.Join(unknown, ", ")), nil
	default:
		return wrong[slices.Min(slices.Collect(maps.Keys(wrong)))], nil
	}
}

func (r reader) field(into protoreflect.Message, field protoreflect.FieldDescriptor) (*domain.Error, error) {
	into.Clear(field) // of names that stand twice the last one counts
	switch {
	case r.PeekKind() == 'n': // null is a field that isn't given
		return nil, r.SkipValue()
	case field.IsList():
		return r.list(into.Mutable(field).List(), field)
	case field.Message() != nil:
		return r.message(into.Mutable(field).Message())
	default:
		value, wrong, err := r.scalar(field)
		if value.IsValid() {
			into.Set(field, value)
		}
		return wrong, err
	}
}

func (r reader) message(into protoreflect.Message) (*domain.Error, error) {
	if r.PeekKind() != '{' {
		name := strings.ToLower(string(into.Descriptor().Name()))
		return domain.Errorf(domain.InvalidArgument, "A %s must be an object.", name), r.SkipValue()
	}
	return r.object(into)
}

func (r reader) list(into protoreflect.List, field protoreflect.FieldDescriptor) (wrong *domain.Error, err error) {
	wrongType := mustBe(field, "a list of strings")
	if field.Message() != nil {
		wrongType = mustBe(field, "a list")
	}
	if r.PeekKind() != '[' {
		return wrongType, r.SkipValue()
	}
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	for kind := r.PeekKind(); kind != ']' && kind != 0; kind = r.PeekKind() {
		var itemWrong *domain.Error
		if field.Message() != nil {
			itemWrong, err = r.message(into.AppendMutable().Message())
			if itemWrong != nil {
				name, batch := field.Message().Name(), "%s %d of the batch: %s"
				itemWrong = domain.Errorf(itemWrong.Code, batch, name, into.Len(), itemWrong.Message)
			}
		} else {
			var value protoreflect.Value
			if value, itemWrong, err = r.scalar(field); itemWrong != nil {
				itemWrong = wrongType
			} else if err == nil {
				into.Append(value)
			}
		}
		if err != nil {
			return nil, err
		}
		wrong = first(wrong, itemWrong)
	}
	_, err = r.ReadToken()
	return wrong, err
}

// scalar returns an integer, a text or bytes; a value that isn't valid goes with a reason.
func (r reader) scalar(field protoreflect.FieldDescriptor) (value protoreflect.Value, wrong *domain.Error, err error) {
	raw, err := r.ReadValue()
	if err != nil {
		return value, nil, err
	}
	isText := raw.Kind() == '"'
	switch field.Kind() {
	case protoreflect.Int32Kind:
		if number, ok := integer(string(raw)); ok {
			return protoreflect.ValueOfInt32(number), nil, nil
		}
		return value, mustBe(field, "an integer"), nil
	case protoreflect.StringKind:
		if !isText {
			return value, mustBe(field, "a string"), nil
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		return protoreflect.ValueOfString(string(text)), nil, err
	default: // BytesKind; the contract has no others
		if decoded, ok := bytesOf(raw); isText && ok {
			return protoreflect.ValueOfBytes(decoded), nil, nil
		}
		return value, mustBe(field, "base64 text"), nil
	}
}

// bytesOf decodes base64 in quotes.
func bytesOf(raw jsontext.Value) ([]byte, bool) {
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil || bytes.ContainsAny(text, "\r\n") { // which the decoder would pass over
		return nil, false
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(decoded, text)
	return decoded[:n], err == nil
}

// set gives a message fields that were written elsewhere than in the body.
func set(into protoreflect.Message, given []Given) error {
	for _, each := range given {
		field := into.Descriptor().Fields().ByName(protoreflect.Name(each.Name))
		number, ok := integer(each.Value)
		if !ok {
			return mustBe(field, "an integer")
		}
		if in := into.Get(field).Int(); in != 0 && in != int64(number) {
			return mustBe(field, "the one of the path")
		}
		into.Set(field, protoreflect.ValueOfInt32(number))
	}
	return nil
}

// integer returns the number that a text is, or false. What an int32 can't hold is returned as the least of them, which
// is out of the range of every field too: validation has the words for it.
func integer(text string) (int32, bool) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > integerDigitsMax || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return math.MinInt32, true
	}
	return int32(number), true
}

func mustBe(field protoreflect.FieldDescriptor, what string) *domain.Error {
	return domain.Errorf(domain.InvalidArgument, "Field '%s' must be %s.", field.Name(), what)
}

func first(errors ...*domain.Error) *domain.Error {
	for _, each := range errors {
		if each != nil {
			return each
		}
	}
	return nil
}
