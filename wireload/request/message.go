package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// contract has the gRPC methods by "package.Service/Method", with the messages of their requests and replies.
type contract map[string]protoreflect.MethodDescriptor

func readContract(descriptors []byte) (contract, error) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(descriptors, set); err != nil {
		return nil, fmt.Errorf("descriptors: not a FileDescriptorSet: %w", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	methods := contract{}
	for file := range files.RangeFiles {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				methods[fmt.Sprintf("%s/%s", service.FullName(), method.Name())] = method
			}
		}
	}
	return methods, nil
}

// message appends an expanded object as a protobuf message. What is the same for all requests is encoded once.
func (p *program) message(descriptor protoreflect.MessageDescriptor, value any) error {
	fields, ok := value.(object)
	if !ok || strings.HasPrefix(string(descriptor.FullName()), "google.protobuf.") {
		return fmt.Errorf("%s must be a mapping, or the same for all requests", descriptor.FullName())
	}
	type given struct {
		field protoreflect.FieldDescriptor
		value any
	}
	var all []given
	for _, each := range fields {
		field := descriptor.Fields().ByName(protoreflect.Name(each.name))
		if field == nil {
			field = descriptor.Fields().ByJSONName(each.name)
		}
		if field == nil {
			return fmt.Errorf("%s: %s has no such field", each.name, descriptor.FullName())
		}
		all = append(all, given{field, each.value})
	}
	slices.SortStableFunc(all, func(a, b given) int { return cmp.Compare(a.field.Number(), b.field.Number()) })
	for _, each := range all {
		if err := p.field(each.field, each.value); err != nil {
			return fmt.Errorf("%s: %w", each.field.Name(), err)
		}
	}
	return nil
}

// field appends a field with its tag: all items, if it has many.
func (p *program) field(field protoreflect.FieldDescriptor, value any) error {
	if options, ok := value.(choice); ok {
		return p.encodedTable(options, func(option any) (string, error) { return encodeField(field, option) })
	}
	if isConstant(value) {
		encoded, err := encodeField(field, value)
		p.literal(encoded)
		return err
	}
	switch {
	case field.IsMap():
		entries, _ := value.(object)
		for _, each := range entries {
			entry := object{{"key", each.name}, {"value", each.value}}
			if err := p.nestedMessage(field, entry); err != nil {
				return fmt.Errorf("%s: %w", each.name, err)
			}
		}
	case field.IsList():
		items, ok := value.([]any)
		if !ok {
			return errors.New("must be a list")
		}
		for i, each := range items {
			if err := p.item(field, each); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	default:
		return p.varying(field, value)
	}
	return nil
}

// item appends an item of a list. Parsers take packed and single items in any order.
func (p *program) item(field protoreflect.FieldDescriptor, value any) error {
	encode := func(item any) (string, error) { return encodeField(field, []any{item}) }
	if options, ok := value.(choice); ok {
		return p.encodedTable(options, encode)
	}
	if isConstant(value) {
		encoded, err := encode(value)
		p.literal(encoded)
		return err
	}
	return p.varying(field, value)
}

// varying appends a single value that is not the same for all requests.
func (p *program) varying(field protoreflect.FieldDescriptor, value any) error {
	tag := string(protowire.AppendTag(nil, field.Number(), protowire.BytesType))
	switch value := value.(type) {
	case number:
		return p.numberField(field, value)
	case text:
		switch {
		case field.Kind() == protoreflect.StringKind:
			p.value(value.slot, func(dst []byte, v *slotValue) []byte {
				return protowire.AppendBytes(append(dst, tag...), v.text)
			})
			return nil
		case field.Kind() == protoreflect.BytesKind && value.isBytes:
			p.value(value.slot, func(dst []byte, v *slotValue) []byte {
				return protowire.AppendBytes(append(dst, tag...), v.bytes)
			})
			return nil
		}
	case concat:
		if field.Kind() == protoreflect.StringKind {
			p.literal(tag)
			p.nested(textProgram(value))
			return nil
		}
	case object:
		if field.Kind() == protoreflect.MessageKind {
			return p.nestedMessage(field, value)
		}
	}
	return fmt.Errorf("a value that varies like this does not fit %s", field.Kind())
}

func (p *program) nestedMessage(field protoreflect.FieldDescriptor, value object) error {
	var inner program
	if err := inner.message(field.Message(), value); err != nil {
		return err
	}
	p.literal(string(protowire.AppendTag(nil, field.Number(), protowire.BytesType)))
	p.nested(inner)
	return nil
}

func (p *program) encodedTable(options choice, encode func(any) (string, error)) error {
	encoded, err := options.mapped(func(option any) (any, error) { return encode(option) })
	if err == nil {
		p.table(encoded.(choice), func(option any) string { return option.(string) })
	}
	return err
}

// numberField appends a number; a zero that stands for a field that is not given is left out.
func (p *program) numberField(field protoreflect.FieldDescriptor, n number) error {
	wireType, low, high := protowire.VarintType, int64(math.MinInt64), int64(math.MaxInt64)
	convert := func(number int64) uint64 { return uint64(number) }
	switch field.Kind() {
	case protoreflect.Int64Kind:
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		low, high = math.MinInt32, math.MaxInt32
	case protoreflect.Uint32Kind:
		low, high = 0, math.MaxUint32
	case protoreflect.Uint64Kind:
		low = 0
	case protoreflect.Sint32Kind:
		low, high, convert = math.MinInt32, math.MaxInt32, protowire.EncodeZigZag
	case protoreflect.Sint64Kind:
		convert = protowire.EncodeZigZag
	case protoreflect.Fixed32Kind:
		wireType, low, high = protowire.Fixed32Type, 0, math.MaxUint32
	case protoreflect.Fixed64Kind:
		wireType, low = protowire.Fixed64Type, 0
	case protoreflect.Sfixed32Kind:
		wireType, low, high = protowire.Fixed32Type, math.MinInt32, math.MaxInt32
	case protoreflect.Sfixed64Kind:
		wireType = protowire.Fixed64Type
	case protoreflect.FloatKind:
		wireType = protowire.Fixed32Type
		convert = func(number int64) uint64 { return uint64(math.Float32bits(float32(number))) }
	case protoreflect.DoubleKind:
		wireType = protowire.Fixed64Type
		convert = func(number int64) uint64 { return math.Float64bits(float64(number)) }
	default:
		return fmt.Errorf("a number does not fit %s", field.Kind())
	}
	if n.low < low || n.high > high {
		return fmt.Errorf("numbers from %d to %d do not fit %s", n.low, n.high, field.Kind())
	}
	tag := protowire.AppendTag(nil, field.Number(), wireType)
	keepsZero := field.HasPresence() || field.IsList()
	p.value(n.slot, func(dst []byte, v *slotValue) []byte {
		number := v.number + n.add
		if number == 0 && !keepsZero {
			return dst
		}
		dst = append(dst, tag...)
		switch wireType {
		case protowire.Fixed32Type:
			return protowire.AppendFixed32(dst, uint32(convert(number)))
		case protowire.Fixed64Type:
			return protowire.AppendFixed64(dst, convert(number))
		}
		return protowire.AppendVarint(dst, convert(number))
	})
	return nil
}

func (p *program) nested(inner program) {
	p.literal("")
	// An empty message has a length too.
	(*p)[len(*p)-1].nested = append(program{}, inner...)
}

// encodeField returns a field of a message whose value is a constant in the JSON form of protobuf.
func encodeField(field protoreflect.FieldDescriptor, constant any) (string, error) {
	if constant == nil {
		return "", nil
	}
	message := dynamicpb.NewMessage(field.ContainingMessage())
	given := object{{string(field.Name()), constant}}
	if err := protojson.Unmarshal([]byte(jsonOf(given)), message); err != nil {
		return "", fmt.Errorf("does not fit the field: %w", err)
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return string(encoded), err
}

func isConstant(value any) bool {
	switch value := value.(type) {
	case number, text, choice, concat:
		return false
	case []any:
		return !slices.ContainsFunc(value, func(each any) bool { return !isConstant(each) })
	case object:
		return !slices.ContainsFunc(value, func(each member[any]) bool { return !isConstant(each.value) })
	}
	return true
}

// decodeReply returns a reply's JSON value; a message's in the JSON form of protobuf, with the fields that are empty.
func decodeReply(descriptor protoreflect.MessageDescriptor, reply []byte) (any, error) {
	if descriptor != nil {
		message := dynamicpb.NewMessage(descriptor)
		if err := proto.Unmarshal(reply, message); err != nil {
			return nil, fmt.Errorf("the reply is not a %s: %w", descriptor.Name(), err)
		}
		var err error
		form := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}
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
