package request

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/suggest"
)

// message appends an expanded value as a protobuf message, field by field. What is the same for all requests is encoded once.
func (p *program) message(at field, descriptor protoreflect.MessageDescriptor, value any) {
	fields, ok := value.(object)
	if !ok || descriptor.ParentFile().Package() == "google.protobuf" { // These have forms of their own in JSON.
		if !isConstant(value) {
			at.fail("%s must be a mapping, or the same for all requests", descriptor.FullName())
			return
		}
		encoded, err := encodeMessage(descriptor, value)
		p.literal(encoded)
		at.check(err)
		return
	}
	numbers := map[string]protoreflect.FieldNumber{}
	for _, each := range fields {
		found, err := findField(descriptor, each.name)
		if err != nil {
			at.at(each.name, nil).check(err)
			return
		}
		numbers[each.name] = found.Number()
	}
	byNumber := func(one, other member) int { return cmp.Compare(numbers[one.name], numbers[other.name]) }
	for _, each := range slices.SortedStableFunc(slices.Values(fields), byNumber) {
		p.field(at.at(each.name, nil), descriptor.Fields().ByNumber(numbers[each.name]), each.value, false)
	}
}

// findField returns a field by its name in the proto file or in JSON.
func findField(descriptor protoreflect.MessageDescriptor, name string) (protoreflect.FieldDescriptor, error) {
	fields := descriptor.Fields()
	if found := cmp.Or(fields.ByName(protoreflect.Name(name)), fields.ByJSONName(name), fields.ByTextName(name)); found != nil {
		return found, nil
	}
	var names []string
	for i := range fields.Len() {
		names = append(names, string(fields.Get(i).Name()))
	}
	return nil, fmt.Errorf("%s has no field %s; %s", descriptor.FullName(), name, suggest.Name(name, names))
}

// field appends a field with its tag, or one of its items. Parsers take single items in any mixture with packed ones.
func (p *program) field(at field, of protoreflect.FieldDescriptor, value any, isItem bool) {
	encode := func(constant any) (string, error) {
		if of.Kind() == protoreflect.EnumKind {
			constant = normalize(constant, of)
		}
		if isWrapper(of.ContainingMessage()) {
			return encodeMessage(of.ContainingMessage(), constant)
		}
		if isItem {
			constant = []any{constant}
		}
		return encodeMessage(of.ContainingMessage(), object{{string(of.Name()), constant}})
	}
	items, isList := value.([]any)
	fields, isObject := value.(object)
	s, isSlot := value.(slot)
	isOne := !of.IsMap() && (isItem || !of.IsList())
	switch {
	case isList && of.IsList() && !isItem && (of.Message() != nil || !isConstant(value)):
		for i, each := range items {
			p.field(at.at(fmt.Sprintf("[%d]", i), nil), of, each, true)
		}
	case isObject && isOne && of.Message() != nil:
		p.nested(of, func(inner *program) { inner.message(at, of.Message(), fields) })
	case isConstant(value) || s.kind == optionKind:
		at.check(p.scalar(value, encode, nil))
	case !isOne:
		at.fail("must be a list, or a mapping that is the same for all requests")
	case isSlot && isWrapper(of.Message()):
		p.nested(of, func(inner *program) { inner.field(at, of.Message().Fields().ByName("value"), value, false) })
	case isSlot && s.kind == numberKind:
		for _, end := range []int64{s.low, s.high} {
			if _, err := encode(json.Number(strconv.FormatInt(end, 10))); err != nil {
				at.fail("%v%s", err, map[bool]string{true: "; {name|text} is a text"}[of.Kind() == protoreflect.StringKind])
				return
			}
		}
		wire, encodeNumber := numberEncoder(of.Kind())
		tag, keepsZero := protowire.AppendTag(nil, of.Number(), wire), of.HasPresence() || of.IsList()
		p.value(s, func(dst []byte, v *slotValue) []byte {
			if number := v.number + s.add; number != 0 || keepsZero {
				return encodeNumber(append(dst, tag...), number)
			}
			return dst
		})
	case isSlot && of.Kind() == protoreflect.StringKind:
		p.literal(string(protowire.AppendTag(nil, of.Number(), protowire.BytesType)))
		p.value(s, func(dst []byte, v *slotValue) []byte { return protowire.AppendBytes(dst, v.text) })
	default:
		at.fail("a value that varies like this does not fit %s", of.Kind())
	}
}

// nested appends a field that is a message: behind its length, or, of groups and delimited messages, between tags.
func (p *program) nested(of protoreflect.FieldDescriptor, build func(inner *program)) {
	if of.Kind() == protoreflect.GroupKind {
		p.literal(string(protowire.AppendTag(nil, of.Number(), protowire.StartGroupType)))
		build(p)
		p.literal(string(protowire.AppendTag(nil, of.Number(), protowire.EndGroupType)))
		return
	}
	var inner program
	build(&inner)
	p.literal(string(protowire.AppendTag(nil, of.Number(), protowire.BytesType)))
	if constant, ok := inner.constant(); ok {
		p.literal(string(protowire.AppendBytes(nil, constant)))
		return
	}
	*p = append(*p, step{encode: inner.appendNested})
}

// isWrapper says whether a message stands for its value in JSON: google.protobuf.StringValue and the like.
func isWrapper(message protoreflect.MessageDescriptor) bool {
	return message != nil && message.ParentFile().Path() == "google/protobuf/wrappers.proto"
}

// numberEncoder returns how a kind of field has whole numbers.
func numberEncoder(kind protoreflect.Kind) (wire protowire.Type, encode func(dst []byte, number int64) []byte) {
	switch kind {
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.VarintType, func(dst []byte, number int64) []byte {
			return protowire.AppendVarint(dst, protowire.EncodeZigZag(number))
		}
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type, func(dst []byte, number int64) []byte { return protowire.AppendFixed32(dst, uint32(number)) }
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type, func(dst []byte, number int64) []byte { return protowire.AppendFixed64(dst, uint64(number)) }
	case protoreflect.FloatKind:
		return protowire.Fixed32Type, func(dst []byte, number int64) []byte {
			return protowire.AppendFixed32(dst, math.Float32bits(float32(number)))
		}
	case protoreflect.DoubleKind:
		return protowire.Fixed64Type, func(dst []byte, number int64) []byte {
			return protowire.AppendFixed64(dst, math.Float64bits(float64(number)))
		}
	}
	return protowire.VarintType, func(dst []byte, number int64) []byte { return protowire.AppendVarint(dst, uint64(number)) }
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
	var p program
	p.json(value)
	_, ok := p.constant()
	return ok
}

// describeReply returns the JSON form of a message, with the fields that are empty.
func describeReply(schema *contract.Schema, descriptor protoreflect.MessageDescriptor, reply []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(descriptor)
	if err := proto.Unmarshal(reply, message); err != nil {
		return nil, fmt.Errorf("the reply is not a %s: %w", descriptor.Name(), err)
	}
	return protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true, Resolver: schema.Types}.Marshal(message)
}
