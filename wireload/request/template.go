package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wirebench.dev/wireload/suggest"
	"wirebench.dev/wireload/variable"
)

// slot stands for the value at a place of a user's values.
type slot struct {
	place int
	kind  slotKind
	// add is added to a number, and low and high are the least and the greatest that there may be.
	add, low, high int64
	// options are constants; the value has the index of one.
	options []any
}

// slotValue is what was drawn for a slot: a number, the index of an option, or a text.
type slotValue struct {
	number int64
	text   []byte
}

type slotKind int

const (
	numberKind slotKind = iota
	textKind
	optionKind
)

// placeholder is a value in a text: an input, of which it may name a form, or a variable of the environment. What has two
// braces is no placeholder: it stands for itself in one.
var placeholder = regexp.MustCompile(`\{(\{[a-z_][a-zA-Z0-9_]*\})\}|\{([a-z_][a-zA-Z0-9_]*)(?:\|([a-z0-9]+))?\}|` + variable.Pattern.String())

// expand returns what a template stands for: a JSON value again, in which a slot stands for each part that varies from
// request to request. Fields that are null are left out.
func (c *compiler) expand(f field) any {
	switch template := f.value.(type) {
	case string:
		value, err := c.expandText(template)
		f.check(err)
		return value
	case []any:
		items := make([]any, len(template))
		for i, each := range template {
			items[i] = c.expand(f.at(fmt.Sprintf("[%d]", i), each))
		}
		return items
	case object:
		fields := make(object, 0, len(template))
		for _, each := range template {
			if value := c.expand(f.at(each.name, each.value)); value != nil {
				fields = append(fields, member{each.name, value})
			}
		}
		return fields
	}
	return f.value
}

// expandText returns what the only placeholder of a text stands for, or else a text, or a slot that has one.
func (c *compiler) expandText(template string) (any, error) {
	if match := placeholder.FindStringSubmatch(template); match != nil && match[0] == template && match[2] != "" {
		return c.resolve(match[2], match[3])
	}
	p, err := c.text(template, appendText, false)
	return c.asText(p), err
}

// compileText returns the program for a field that is a text.
func (c *compiler) compileText(f field) program {
	text, _ := f.value.(string)
	p, err := c.text(text, appendText, false)
	f.check(err)
	return p
}

// text returns the program for a text, with escape appending what its placeholders stand for. Values of variables are
// taken literally; the check of a file doesn't need them.
func (c *compiler) text(template string, escape func(dst, text []byte) []byte, takesVariables bool) (p program, err error) {
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		p.literal(template[from:at[0]])
		part := func(group int) string { return template[max(0, at[2*group]):max(0, at[2*group+1])] }
		from = at[1]
		var value any
		switch name := part(4); {
		case part(1) != "":
			value = part(1)
		case name == "":
			value, err = c.resolve(part(2), part(3))
		case !takesVariables:
			err = errors.New("only headers and metadata take variables")
		case c.work.options.isCheck:
			value = ""
		default:
			value, err = variable.LookUp(name)
		}
		if err == nil {
			err = p.text(value, escape)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part(0), err)
		}
	}
	p.literal(template[from:])
	return p, nil
}

func (c *compiler) addSlot(kind slotKind, d draw) slot {
	c.draws = append(c.draws, d)
	return slot{place: len(c.draws) - 1, kind: kind}
}

// addNumber adds a slot for a number from low to high.
func (c *compiler) addNumber(low, high int64, d func(u *user) int64) slot {
	s := c.addSlot(numberKind, func(u *user, v *slotValue) { v.number = d(u) })
	s.low, s.high = low, high
	return s
}

// textOf returns a constant as it stands in a text.
func textOf(constant any) (string, error) {
	switch constant := constant.(type) {
	case string:
		return constant, nil
	case json.Number:
		return constant.String(), nil
	case bool:
		return strconv.FormatBool(constant), nil
	case nil:
		return "", errors.New("null can't stand in a text")
	}
	return "", errors.New("a list or a mapping can't stand in a text")
}

// isText reports whether an expanded value is a text in every request.
func isText(value any) bool {
	s, isSlot := value.(slot)
	isOther := func(option any) bool { return !isA[string](option) }
	return isA[string](value) || isSlot && (s.kind == textKind || s.kind == optionKind && !slices.ContainsFunc(s.options, isOther))
}

func appendText(dst, text []byte) []byte { return append(dst, text...) }

// appendEscaped escapes a value for a path or a query, and allocates if there is anything to escape. A + would be a space in
// a query, and a plus sign in a path.
func appendEscaped(dst, text []byte) []byte {
	isOther := func(r rune) bool { return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') }
	if bytes.IndexFunc(text, isOther) < 0 {
		return append(dst, text...)
	}
	return append(dst, strings.ReplaceAll(url.QueryEscape(string(text)), "+", "%20")...)
}

func (c *compiler) missingInput(name string) error {
	return fmt.Errorf("there is no input %q before it; %s; {{%s}} is text", name,
		suggest.Name(name, slices.Sorted(maps.Keys(c.known))), name)
}

// resolve returns what a placeholder stands for.
func (c *compiler) resolve(name, form string) (any, error) {
	value, ok := c.known[name]
	switch {
	case !ok:
		return nil, c.missingInput(name)
	case form == "":
		return value, nil
	case forms[form] == nil:
		return nil, fmt.Errorf("there is no form %q; %s", form, suggest.Name(form, slices.Sorted(maps.Keys(forms))))
	}
	var p program
	err := p.text(value, forms[form])
	return c.asText(p), err
}

// forms are those that a placeholder may ask for.
var forms = map[string]func(dst, text []byte) []byte{
	"text":  appendText,
	"upper": func(dst, text []byte) []byte { return append(dst, bytes.ToUpper(text)...) },
	"base64url": func(dst, text []byte) []byte {
		return append(dst, bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("+"), []byte("-")), []byte("/"), []byte("_"))...)
	},
}

// asText returns what a program appends: a text, or a slot that has one.
func (c *compiler) asText(p program) any {
	if constant, ok := p.constant(); ok {
		return string(constant)
	}
	return c.addSlot(textKind, func(u *user, v *slotValue) { v.text = p.append(v.text[:0], u.values) })
}
