package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/suggest"
)

// message appends an expanded value as a protobuf message, field by field. What is the same for all requests is encoded once.
func (p *program) message(descriptor protoreflect.MessageDescriptor, value any) error {
	fields, ok := value.(object)
	if !ok || descriptor.ParentFile().Package() == "google.protobuf" { // These have forms of their own in JSON.
		if !isConstant(value) {
			return fmt.Errorf("%s must be a mapping, or the same for all requests", descriptor.FullName())
		}
		encoded, err := encodeMessage(descriptor, value)
		p.literal(encoded)
		return err
	}
	type given struct {
		field protoreflect.FieldDescriptor
		value any
	}
	var all []given
	for _, each := range fields {
		field, err := findField(descriptor, each.name)
		if err != nil {
			return atKey(each.name, err)
		}
		all = append(all, given{field, each.value})
	}
	slices.SortStableFunc(all, func(a, b given) int { return cmp.Compare(a.field.Number(), b.field.Number()) })
	for _, each := range all {
		if err := p.field(each.field, each.value); err != nil {
			return atKey(string(each.field.Name()), err)
		}
	}
	return nil
}

// findField returns a field by its name in the proto file or in JSON.
func findField(descriptor protoreflect.MessageDescriptor, name string) (protoreflect.FieldDescriptor, error) {
	fields := descriptor.Fields()
	if found := cmp.Or(fields.ByName(protoreflect.Name(name)), fields.ByJSONName(name)); found != nil {
		return found, nil
	}
	var names []string
	for i := range fields.Len() {
		names = append(names, string(fields.Get(i).Name()))
	}
	return nil, fmt.Errorf("%s has no field %s; %s", descriptor.FullName(), name, suggest.Name(name, names))
}

// field appends a field with its tag: all items, if it has many. Parsers take single items in any mixture with packed ones.
func (p *program) field(field protoreflect.FieldDescriptor, value any) error {
	items, isList := value.([]any)
	entries, isMap := value.(object)
	s, _ := value.(slot)
	encode := func(constant any) (string, error) { return encodeField(field, constant) }
	switch {
	case field.IsMap() && isMap && !isConstant(value):
		for _, each := range entries {
			if err := p.nestedMessage(field, object{{"key", each.name}, {"value", each.value}}); err != nil {
				return atKey(each.name, err)
			}
		}
		return nil
	case field.IsList() && isList && (field.Message() != nil || !isConstant(value)):
		for i, each := range items {
			err := p.single(field, each, func(item any) (string, error) { return encodeField(field, []any{item}) })
			if err != nil {
				return atKey(fmt.Sprintf("[%d]", i), err)
			}
		}
		return nil
	case (field.IsMap() || field.IsList()) && !isConstant(value) && s.kind != optionKind:
		return errors.New("must be a list or a mapping")
	}
	return p.single(field, value, encode)
}

// single appends a field or an item; encode encodes constants.
func (p *program) single(field protoreflect.FieldDescriptor, value any, encode func(any) (string, error)) error {
	tag := protowire.AppendTag(nil, field.Number(), protowire.BytesType)
	fields, isObject := value.(object)
	s, isSlot := value.(slot)
	switch {
	case isObject && field.Message() != nil && !field.IsMap():
		return p.nestedMessage(field, fields)
	case isConstant(value):
		encoded, err := encode(value)
		p.literal(encoded)
		return err
	case isSlot && s.kind == optionKind:
		return p.option(s, encode)
	case isSlot && isWrapper(field):
		var inner program
		err := inner.single(field.Message().Fields().ByName("value"), value, nil)
		p.nested(tag, inner)
		return err
	case isSlot && s.kind == numberKind:
		return p.numberField(field, s)
	case isSlot && field.Kind() == protoreflect.StringKind:
		p.value(s, func(dst []byte, v *slotValue) []byte { return protowire.AppendBytes(append(dst, tag...), v.text) })
		return nil
	case isSlot && field.Kind() == protoreflect.BytesKind && s.kind == bytesKind:
		p.value(s, func(dst []byte, v *slotValue) []byte { return protowire.AppendBytes(append(dst, tag...), v.bytes) })
		return nil
	}
	return fmt.Errorf("a value that varies like this does not fit %s", field.Kind())
}

func (p *program) nestedMessage(field protoreflect.FieldDescriptor, value object) error {
	var inner program
	err := inner.message(field.Message(), value)
	p.nested(protowire.AppendTag(nil, field.Number(), protowire.BytesType), inner)
	return err
}

// nested appends a message after its length.
func (p *program) nested(tag []byte, inner program) {
	p.literal(string(tag))
	if constant, ok := inner.constant(); ok {
		p.literal(string(protowire.AppendBytes(nil, constant)))
		return
	}
	*p = append(*p, step{nested: inner})
}

// isWrapper says whether a field is a message that stands for its value: google.protobuf.StringValue and the like.
func isWrapper(field protoreflect.FieldDescriptor) bool {
	message := field.Message()
	return message != nil && message.ParentFile().Path() == "google/protobuf/wrappers.proto"
}

// encoding is how a type of field has whole numbers, and which.
type encoding struct {
	wire      protowire.Type
	low, high int64
	convert   func(int64) uint64
}

var encodings = func() map[protoreflect.Kind]encoding {
	plain := func(number int64) uint64 { return uint64(number) }
	zigZag := protowire.EncodeZigZag
	float := func(number int64) uint64 { return uint64(math.Float32bits(float32(number))) }
	double := func(number int64) uint64 { return math.Float64bits(float64(number)) }
	const varint, fixed32, fixed64 = protowire.VarintType, protowire.Fixed32Type, protowire.Fixed64Type
	return map[protoreflect.Kind]encoding{
		protoreflect.Int32Kind:    {varint, math.MinInt32, math.MaxInt32, plain},
		protoreflect.EnumKind:     {varint, math.MinInt32, math.MaxInt32, plain},
		protoreflect.Int64Kind:    {varint, math.MinInt64, math.MaxInt64, plain},
		protoreflect.Uint32Kind:   {varint, 0, math.MaxUint32, plain},
		protoreflect.Uint64Kind:   {varint, 0, math.MaxInt64, plain},
		protoreflect.Sint32Kind:   {varint, math.MinInt32, math.MaxInt32, zigZag},
		protoreflect.Sint64Kind:   {varint, math.MinInt64, math.MaxInt64, zigZag},
		protoreflect.Fixed32Kind:  {fixed32, 0, math.MaxUint32, plain},
		protoreflect.Fixed64Kind:  {fixed64, 0, math.MaxInt64, plain},
		protoreflect.Sfixed32Kind: {fixed32, math.MinInt32, math.MaxInt32, plain},
		protoreflect.Sfixed64Kind: {fixed64, math.MinInt64, math.MaxInt64, plain},
		protoreflect.FloatKind:    {fixed32, math.MinInt64, math.MaxInt64, float},
		protoreflect.DoubleKind:   {fixed64, math.MinInt64, math.MaxInt64, double},
	}
}()

// numberField appends a number; a zero that is the same as a field that is not given is left out.
func (p *program) numberField(field protoreflect.FieldDescriptor, s slot) error {
	e, ok := encodings[field.Kind()]
	if !ok || s.low < e.low || s.high > e.high {
		return fmt.Errorf("numbers from %d to %d do not fit %s", s.low, s.high, field.Kind())
	}
	tag := protowire.AppendTag(nil, field.Number(), e.wire)
	keepsZero := field.HasPresence() || field.IsList()
	p.value(s, func(dst []byte, v *slotValue) []byte {
		number := v.number + s.add
		if number == 0 && !keepsZero {
			return dst
		}
		dst = append(dst, tag...)
		switch e.wire {
		case protowire.Fixed32Type:
			return protowire.AppendFixed32(dst, uint32(e.convert(number)))
		case protowire.Fixed64Type:
			return protowire.AppendFixed64(dst, e.convert(number))
		}
		return protowire.AppendVarint(dst, e.convert(number))
	})
	return nil
}

// encodeField returns a field of a message whose value is a constant.
func encodeField(field protoreflect.FieldDescriptor, constant any) (string, error) {
	return encodeMessage(field.ContainingMessage(), object{{string(field.Name()), constant}})
}

// protoPrefix is what protobuf's errors begin with; its place isn't one of the file.
var protoPrefix = regexp.MustCompile(`^proto:[\s\x{a0}]*(\(line \d+:\d+\): )?`)

// encodeMessage returns a message from the JSON form of protobuf.
func encodeMessage(descriptor protoreflect.MessageDescriptor, constant any) (string, error) {
	message := dynamicpb.NewMessage(descriptor)
	// Fields are encoded one by one, also of messages of which others are required.
	if err := (protojson.UnmarshalOptions{AllowPartial: true}).Unmarshal([]byte(jsonOf(constant)), message); err != nil {
		return "", fmt.Errorf("does not fit %s: %s", descriptor.Name(), protoPrefix.ReplaceAllString(err.Error(), ""))
	}
	encoded, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(message)
	return string(encoded), err
}

func isConstant(value any) bool {
	switch value := value.(type) {
	case slot:
		return false
	case []any:
		return !slices.ContainsFunc(value, func(each any) bool { return !isConstant(each) })
	case object:
		return !slices.ContainsFunc(value, func(each member[any]) bool { return !isConstant(each.value) })
	}
	return true
}

// decodeReply returns a reply's JSON value; a message's in the JSON form of protobuf, with the fields that are empty.
func decodeReply(schema *contract.Schema, descriptor protoreflect.MessageDescriptor, reply []byte) (any, error) {
	if descriptor != nil {
		message := dynamicpb.NewMessage(descriptor)
		if err := proto.Unmarshal(reply, message); err != nil {
			return nil, fmt.Errorf("the reply is not a %s: %w", descriptor.Name(), err)
		}
		var err error
		form := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true, Resolver: schema.Types}
		if reply, err = form.Marshal(message); err != nil {
			return nil, err
		}
	}
	var value template
	if err := json.Unmarshal(reply, &value); err != nil {
		return nil, fmt.Errorf("the reply is not JSON: %w", err)
	}
	return value.value, nil
}

// anyJSON are messages whose JSON isn't an object of their fields.
var anyJSON = []protoreflect.FullName{
	"google.protobuf.Any", "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue",
}

// checkPath returns why the JSON of a message can't have a path.
func checkPath(message protoreflect.MessageDescriptor, path string) error {
	isPlace := false // Behind a list stands an item's place, and behind a map a key.
	for _, key := range keysOf(path) {
		switch {
		case isPlace:
			isPlace = false
			continue
		case message == nil:
			return fmt.Errorf("%s is inside a value that has no fields", key)
		case slices.Contains(anyJSON, message.FullName()):
			return nil
		}
		found, err := findField(message, key)
		if err == nil && string(found.Name()) != key {
			err = fmt.Errorf("replies have %s in place of %s", found.Name(), key)
		}
		if err != nil {
			return err
		}
		isPlace, message = found.Cardinality() == protoreflect.Repeated, found.Message()
		if found.IsMap() {
			message = found.MapValue().Message()
		}
		// Those of google.protobuf that have a single value in JSON: times, wrappers, masks.
		if message != nil && message.ParentFile().Package() == "google.protobuf" && !slices.Contains(anyJSON, message.FullName()) {
			message = nil
		}
	}
	return nil
}
