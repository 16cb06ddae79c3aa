package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// program appends bytes, some of which depend on a request's values.
type program []step

// step appends its literal, and then a value or a nested message after its length, if it has one.
type step struct {
	literal []byte
	slot    int
	encode  encoder
	nested  program
}

type encoder func(dst []byte, v *slotValue) []byte

// slotValue is what was drawn for a slot: a number, the index of a choice, or text with the bytes that it stands for.
type slotValue struct {
	number      int64
	text, bytes []byte
}

func (p program) append(dst []byte, values []slotValue) []byte {
	for i := range p {
		s := &p[i]
		dst = append(dst, s.literal...)
		switch {
		case s.encode != nil:
			dst = s.encode(dst, &values[s.slot])
		case s.nested != nil:
			dst = s.nested.appendNested(dst, values)
		}
	}
	return dst
}

// appendNested appends the length of what the program appends, and that.
func (p program) appendNested(dst []byte, values []slotValue) []byte {
	start := len(dst)
	dst = p.append(append(dst, 0), values) // One byte suffices for most lengths.
	length := len(dst) - start - 1
	if more := protowire.SizeVarint(uint64(length)) - 1; more > 0 {
		dst = append(dst, make([]byte, more)...)
		copy(dst[start+1+more:], dst[start+1:][:length])
	}
	protowire.AppendVarint(dst[:start], uint64(length))
	return dst
}

// fill returns what the program appends: in the buffer, unless it is the same for all requests.
func (p program) fill(buffer *[]byte, values []slotValue) []byte {
	switch {
	case len(p) == 0:
		return nil
	case len(p) == 1 && p[0].isLiteral():
		return p[0].literal
	}
	*buffer = p.append((*buffer)[:0], values)
	return *buffer
}

func (s *step) isLiteral() bool { return s.encode == nil && s.nested == nil }

func (p *program) literal(literal string) {
	if last := len(*p) - 1; last >= 0 && (*p)[last].isLiteral() {
		(*p)[last].literal = append((*p)[last].literal, literal...)
		return
	}
	*p = append(*p, step{literal: []byte(literal)})
}

func (p *program) value(slot int, encode encoder) {
	p.literal("")
	last := &(*p)[len(*p)-1]
	last.slot, last.encode = slot, encode
}

// table appends what was made of the constant that is chosen.
func (p *program) table(c choice, render func(constant any) string) {
	texts := make([]string, len(c.of))
	for i, each := range c.of {
		texts[i] = render(each)
	}
	p.value(c.slot, func(dst []byte, v *slotValue) []byte { return append(dst, texts[v.number]...) })
}

func (p *program) number(n number) {
	p.value(n.slot, func(dst []byte, v *slotValue) []byte { return strconv.AppendInt(dst, v.number+n.add, 10) })
}

// text appends an expanded text, with constants escaped.
func (p *program) text(value any, escape func(string) string) {
	switch value := value.(type) {
	case string:
		p.literal(escape(value))
	case number:
		p.number(value)
	case text:
		encode := func(dst []byte, v *slotValue) []byte { return append(dst, v.text...) }
		if value.isInURL {
			encode = appendEscaped
		}
		p.value(value.slot, encode)
	case choice:
		p.table(value, func(option any) string { return escape(option.(string)) }) // As joinText has made it.
	case concat:
		for _, each := range value {
			p.text(each, escape)
		}
	}
}

func textProgram(value any) program {
	var p program
	p.text(value, unchanged)
	return p
}

// appendEscaped escapes base64 for a URL.
func appendEscaped(dst []byte, v *slotValue) []byte {
	for _, each := range v.text {
		switch each {
		case '+', '/', '=':
			dst = append(dst, '%', "0123456789ABCDEF"[each>>4], "0123456789ABCDEF"[each&15])
		default:
			dst = append(dst, each)
		}
	}
	return dst
}

// json appends an expanded value as JSON.
func (p *program) json(value any) {
	switch value := value.(type) {
	case number:
		p.number(value)
	case text, concat:
		p.literal(`"`)
		p.text(value, escapeJSON)
		p.literal(`"`)
	case choice:
		p.table(value, jsonOf)
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
		p.separated(value, ',', func(p *program, name string, value any) {
			p.literal(`"` + escapeJSON(name) + `":`)
			p.json(value)
		})
		p.literal("}")
	case string:
		p.literal(`"` + escapeJSON(value) + `"`)
	case json.Number:
		p.literal(value.String())
	case bool:
		p.literal(strconv.FormatBool(value))
	default:
		p.literal("null")
	}
}

// separated appends fields with a separator between them. A field that is null in some requests is left out of those:
// then each field ends with a separator, and the last one is dropped.
func (p *program) separated(fields object, separator byte, write func(p *program, name string, value any)) {
	varies := slices.ContainsFunc(fields, func(each member[any]) bool { return isOptional(each.value) })
	for i, each := range fields {
		if isOptional(each.value) {
			options := each.value.(choice)
			p.table(options, func(option any) string {
				if option == nil {
					return ""
				}
				var one program
				write(&one, each.name, option)
				return string(one.append(nil, nil)) + string(separator)
			})
			continue
		}
		if i > 0 && !varies {
			p.literal(string(separator))
		}
		write(p, each.name, each.value)
		if varies {
			p.literal(string(separator))
		}
	}
	if varies {
		p.value(0, func(dst []byte, _ *slotValue) []byte { return bytes.TrimSuffix(dst, []byte{separator}) })
	}
}

// isOptional says whether a value is null in some requests.
func isOptional(value any) bool {
	options, ok := value.(choice)
	return ok && slices.Contains(options.of, nil)
}

func jsonOf(constant any) string {
	var p program
	p.json(constant)
	return string(p.append(nil, nil))
}

// escapeJSON returns a text as it stands between the quotes of a JSON string.
func escapeJSON(text string) string {
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // A string always has a JSON form.
	return strings.TrimSuffix(quoted.String(), "\n")[1:][:quoted.Len()-3]
}

// target is the path and query of a REST request. A parameter that is null is left out.
func (c *compiler) target(template string) (program, error) {
	var p program
	path, query, _ := strings.Cut(template, "?")
	expanded, err := c.expandText(path, escapeURL)
	if err != nil {
		return nil, err
	}
	p.text(expanded, unchanged)
	var parameters object
	for pair := range strings.SplitSeq(query, "&") {
		name, template, _ := strings.Cut(pair, "=")
		value, err := c.expand(template)
		if err != nil {
			return nil, err
		}
		if pair == "" || value == nil {
			continue
		}
		if isOptional(value) {
			value, err = value.(choice).mapped(escapeParameter)
		} else {
			value, err = c.expandText(template, escapeURL)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		parameters = append(parameters, member[any]{name, value})
	}
	if len(parameters) > 0 {
		p.literal("?")
		p.separated(parameters, '&', func(p *program, name string, value any) {
			p.literal(name + "=")
			p.text(value, unchanged)
		})
	}
	return p, nil
}

func escapeParameter(option any) (any, error) {
	if option == nil {
		return nil, nil
	}
	text, err := textOf(option)
	return escapeURL(text), err
}
