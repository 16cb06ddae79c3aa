package request

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// program appends bytes, some of which depend on a request's values.
type program []step

// step appends its literal, and then what depends on the values, if anything does.
type step struct {
	literal []byte
	encode  func(dst []byte, values []slotValue) []byte
}

func (p program) append(dst []byte, values []slotValue) []byte {
	for i := range p {
		dst = append(dst, p[i].literal...)
		if p[i].encode != nil {
			dst = p[i].encode(dst, values)
		}
	}
	return dst
}

// appendNested appends the length of what the program appends, and that.
func (p program) appendNested(dst []byte, values []slotValue) []byte {
	start := len(dst) + 1 // One byte suffices for most lengths.
	dst = p.append(append(dst, 0), values)
	length := uint64(len(dst) - start)
	dst = slices.Insert(dst, start, make([]byte, protowire.SizeVarint(length)-1)...)
	protowire.AppendVarint(dst[:start-1], length)
	return dst
}

// fill returns what the program appends: in the buffer, unless it is the same for all requests.
func (p program) fill(buffer *[]byte, values []slotValue) []byte {
	if constant, ok := p.constant(); ok {
		return constant
	}
	*buffer = p.append((*buffer)[:0], values)
	return *buffer
}

// constant returns what the program appends, if that is the same for all requests.
func (p program) constant() (literal []byte, ok bool) {
	switch {
	case len(p) == 0:
		return nil, true
	case len(p) == 1 && p[0].encode == nil:
		return p[0].literal, true
	}
	return nil, false
}

// literal appends a constant to what the program appends.
func (p *program) literal(literal string) {
	if last := len(*p) - 1; last >= 0 && (*p)[last].encode == nil {
		(*p)[last].literal = append((*p)[last].literal, literal...)
	} else if literal != "" {
		*p = append(*p, step{literal: []byte(literal)})
	}
}

// value appends what encode makes of a slot's value.
func (p *program) value(s slot, encode func(dst []byte, v *slotValue) []byte) {
	*p = append(*p, step{encode: func(dst []byte, values []slotValue) []byte { return encode(dst, &values[s.place]) }})
}

// scalar appends an expanded value: what is known already as render has it, and texts that vary as escape has them.
func (p *program) scalar(value any, render func(constant any) (string, error), escape func(dst, text []byte) []byte) error {
	s, isSlot := value.(slot)
	switch {
	case !isSlot:
		rendered, err := render(value)
		p.literal(rendered)
		return err
	case s.kind == numberKind:
		p.value(s, func(dst []byte, v *slotValue) []byte { return strconv.AppendInt(dst, v.number+s.add, 10) })
	case s.kind == optionKind:
		rendered := make([]string, len(s.options))
		for i, each := range s.options {
			var err error
			if rendered[i], err = render(each); err != nil {
				return err
			}
		}
		p.value(s, func(dst []byte, v *slotValue) []byte { return append(dst, rendered[v.number]...) })
	default:
		p.value(s, func(dst []byte, v *slotValue) []byte { return escape(dst, v.text) })
	}
	return nil
}

// text appends an expanded value as it stands in a text, escaped.
func (p *program) text(value any, escape func(dst, text []byte) []byte) error {
	render := func(constant any) (string, error) {
		text, err := textOf(constant)
		return string(escape(nil, []byte(text))), err
	}
	return p.scalar(value, render, escape)
}

// json appends an expanded value as JSON.
func (p *program) json(value any) {
	switch value := value.(type) {
	case []any:
		p.literal("[")
		for i, each := range value {
			if i > 0 {
				p.literal(",")
			}
			p.json(each)
		}
		p.literal("]")
	case object:
		p.literal("{")
		for i, each := range value {
			if i > 0 {
				p.literal(",")
			}
			p.json(each.name)
			p.literal(":")
			p.json(each.value)
		}
		p.literal("}")
	case string:
		p.literal(string(appendQuoted(nil, []byte(value))))
	case nil:
		p.literal("null")
	default: // A number, a bool, or a slot.
		render := func(constant any) (string, error) { return jsonOf(constant), nil }
		if !isA[slot](value) {
			render = textOf
		}
		_ = p.scalar(value, render, appendQuoted)
	}
}

// jsonOf returns the JSON of a constant.
func jsonOf(constant any) string {
	var p program
	p.json(constant)
	return string(p.append(nil, nil))
}

// appendQuoted appends a text, which is UTF-8, as a JSON string.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, each := range text {
		switch {
		case each == '"' || each == '\\':
			dst = append(dst, '\\', each)
		case each < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, each)
		default:
			dst = append(dst, each)
		}
	}
	return append(dst, '"')
}
