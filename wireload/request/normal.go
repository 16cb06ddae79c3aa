package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// normalize returns a value of JSON in one of the forms that protobuf's JSON has for it, or nil if that may leave it out. The
// value is that of a field, or a message; of nil nothing is known.
func normalize(value any, of protoreflect.Descriptor) any {
	field, _ := of.(protoreflect.FieldDescriptor)
	message, _ := of.(protoreflect.MessageDescriptor)
	if field != nil {
		message = field.Message()
	}
	switch value := value.(type) {
	case []any:
		items := make([]any, len(value))
		for i, each := range value {
			items[i] = normalize(each, of)
		}
		return items
	case map[string]any:
		fields := map[string]any{}
		for name, each := range value {
			key, inner, _ := findMember(message, name)
			fields[key] = normalize(each, inner)
		}
		if message != nil && !message.IsMapEntry() {
			maps.DeleteFunc(fields, func(_ string, each any) bool { return isEmpty(each) })
		}
		return fields
	case json.Number:
		if field != nil && field.Kind() == protoreflect.StringKind {
			return value.String()
		}
		if number, _, err := big.ParseFloat(value.String(), 10, 256, big.ToNearestEven); field == nil && err == nil {
			return json.Number(number.Text('g', -1))
		}
	}
	if field == nil || value == nil {
		return value
	}
	return normalizeScalar(value, field)
}

// normalizeScalar returns what protobuf-go makes of a value of a field; what doesn't fit stays as it is.
func normalizeScalar(value any, field protoreflect.FieldDescriptor) any {
	text, isText := value.(string)
	if isText && field.Kind() == protoreflect.EnumKind {
		value = numberOfEnum(text, field.Enum())
	}
	name, given := string(field.Name()), value
	if field.IsList() {
		given = []any{value}
	}
	message := dynamicpb.NewMessage(field.ContainingMessage())
	err := protojson.UnmarshalOptions{AllowPartial: true}.Unmarshal(encodeJSON(map[string]any{name: given}), message)
	if err != nil {
		return value
	}
	encoded, _ := protojson.MarshalOptions{AllowPartial: true, UseProtoNames: true, UseEnumNumbers: true}.Marshal(message)
	made, _ := decodeJSON(encoded)
	if made = pick(made, name); field.IsList() {
		made = pick(made, "0")
	}
	if made == "0" && field.Kind() != protoreflect.StringKind && field.Message() == nil {
		return nil // A whole number of 64 bits.
	}
	return made
}

// capital is a capital letter inside a name.
var capital = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// numberOfEnum returns the number of an enum's value, which may be named in any case, and without the enum's own name: BOOK is
// CATEGORY_BOOK.
func numberOfEnum(text string, enum protoreflect.EnumDescriptor) any {
	prefix := capital.ReplaceAllString(string(enum.Name()), "${1}_$2") + "_"
	for i := range enum.Values().Len() {
		each := enum.Values().Get(i)
		if name := string(each.Name()); strings.EqualFold(name, text) || strings.EqualFold(name, prefix+text) {
			return json.Number(fmt.Sprint(each.Number()))
		}
	}
	return text
}

// isEmpty reports whether a value is one that protobuf's JSON leaves out.
func isEmpty(value any) bool {
	return slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, string(encodeJSON(value)))
}

// findMember returns the key of a message's field, or of a map's value, as its JSON has it, and the field: nil if nothing is
// known of what a message has.
func findMember(message protoreflect.MessageDescriptor, name string) (key string, found protoreflect.FieldDescriptor, err error) {
	switch {
	case message == nil || message.ParentFile().Package() == "google.protobuf":
		return name, nil, nil
	case message.IsMapEntry():
		return name, message.Fields().ByName("value"), nil
	}
	if found, err = findField(message, name); err != nil {
		return name, nil, err
	}
	return found.TextName(), found, nil
}

// resolvePath returns the keys of a path as the JSON of a message has them, and what is known of the value there.
func resolvePath(message protoreflect.MessageDescriptor, path string) (keys []string, of protoreflect.Descriptor, err error) {
	keys, of = keysOf(path), message
	isPlace := false // Behind a list stands an item's place.
	for i, key := range keys {
		switch {
		case isPlace:
			isPlace = false
			continue
		case message == nil && of != nil:
			return nil, nil, fmt.Errorf("%s is inside a value that has no fields", key)
		}
		var found protoreflect.FieldDescriptor
		if keys[i], found, err = findMember(message, key); err != nil || found == nil {
			return keys, nil, err
		}
		of, isPlace, message = found, found.IsList(), found.Message()
	}
	return keys, of, nil
}
