package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"wirebench.dev/wireload/suggest"
	"wirebench.dev/wireload/variable"
)

// template is a JSON value whose texts may have placeholders: nil, bool, json.Number, string, []any or object.
//
// Expanded, it is such a value again, in which a slot stands for each part that varies from request to request.
type template struct{ value any }

type object = ordered[any]

// slot stands for the value at a place of a user's values.
type slot struct {
	place int
	kind  slotKind
	// add is added to a number, and low and high are the least and the greatest that there may be.
	add, low, high int64
	// options are constants; the value has the index of one.
	options []any
}

// slotValue is what was drawn for a slot: a number, the index of an option, or text with the bytes that it stands for.
type slotValue struct {
	number      int64
	text, bytes []byte
}

// valueOf returns the constant that a slot stands for in one request.
func (s slot) valueOf(v *slotValue) any {
	switch s.kind {
	case numberKind:
		return json.Number(strconv.FormatInt(v.number+s.add, 10))
	case optionKind:
		return s.options[v.number]
	}
	return string(v.text)
}

type slotKind int

const (
	numberKind slotKind = iota
	textKind
	bytesKind // bytes, and their base64 as text
	optionKind
)

func (t *template) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := decodeValue(decoder)
	t.value = value
	return err
}

func decodeValue(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil || (token != json.Delim('{') && token != json.Delim('[')) {
		return token, err
	}
	fields, items := object{}, []any{}
	for decoder.More() {
		var name json.Token
		if token == json.Delim('{') {
			if name, err = decoder.Token(); err != nil {
				return nil, err
			}
		}
		value, err := decodeValue(decoder)
		if err != nil {
			return nil, err
		}
		if name, ok := name.(string); ok {
			fields = append(fields, member[any]{name, value})
		} else {
			items = append(items, value)
		}
	}
	_, err = decoder.Token() // its end
	if token == json.Delim('[') {
		return items, err
	}
	return fields, err
}

var placeholder = regexp.MustCompile(`\{([a-z_][a-zA-Z0-9_]*)(?:\|([a-z]+))?\}`)

// expandedMax bounds what an operation's templates expand to, in nodes and bytes: a few nested inputs could fill
// the memory. The fuzz test lowers it.
var expandedMax = 64 << 20

var errTooLarge = fmt.Errorf("expands to more than %d MiB", expandedMax>>20)

// expand replaces the placeholders in a template. Fields that are null are left out.
func (c *compiler) expand(template any) (any, error) {
	if c.size++; c.size > expandedMax {
		return nil, errTooLarge
	}
	switch template := template.(type) {
	case string:
		if match := placeholder.FindStringSubmatch(template); match != nil && match[0] == template {
			return c.resolve(match[1], match[2])
		}
		return c.expandText(template)
	case []any:
		items := make([]any, len(template))
		for i, each := range template {
			var err error
			if items[i], err = c.expand(each); err != nil {
				return nil, atKey(fmt.Sprintf("[%d]", i), err)
			}
		}
		return items, nil
	case object:
		fields := make(object, 0, len(template))
		for _, each := range template {
			value, err := c.expand(each.value)
			if err != nil {
				return nil, atKey(each.name, err)
			}
			if value != nil {
				fields = append(fields, member[any]{each.name, value})
			}
		}
		return fields, nil
	}
	return template, nil
}

// expandText returns a string, or a slot that has the text.
func (c *compiler) expandText(template string) (any, error) {
	p, err := c.text(template, nil)
	if err != nil {
		return nil, err
	}
	if constant, ok := p.constant(); ok {
		return string(constant), nil
	}
	return c.addSlot(textKind, func(u *user, v *slotValue) { v.text = p.append(v.text[:0], u.values) }), nil
}

// text returns the program for a text, with escape applied to what its placeholders stand for.
func (c *compiler) text(template string, escape func(string) string) (p program, err error) {
	if c.size += len(template); c.size > expandedMax {
		return nil, errTooLarge
	}
	if found := variable.Pattern.FindString(template); found != "" {
		return nil, fmt.Errorf("%s: only headers and metadata take variables", found)
	}
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		p.literal(template[from:at[0]])
		form := ""
		if at[4] >= 0 {
			form = template[at[4]:at[5]]
		}
		value, err := c.resolve(template[at[2]:at[3]], form)
		if err == nil {
			err = p.text(value, escape)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", template[at[0]:at[1]], err)
		}
		from = at[1]
	}
	p.literal(template[from:])
	return p, nil
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

// escapeURL escapes a value for a path or a query. A + would be a space in a query, and a plus sign in a path.
func escapeURL(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

func (c *compiler) missingInput(name string) error {
	if len(c.known) == 0 {
		return fmt.Errorf("there is no input %q before it", name)
	}
	return fmt.Errorf("there is no input %q before it; %s", name, suggest.Name(name, slices.Sorted(maps.Keys(c.known))))
}

// resolve returns what a placeholder stands for.
func (c *compiler) resolve(name, form string) (any, error) {
	value, ok := c.known[name]
	if !ok {
		return nil, c.missingInput(name)
	}
	if c.size += c.sizes[name]; c.size > expandedMax {
		return nil, errTooLarge
	}
	if form == "" {
		return value, nil
	}
	varying, ok := value.(slot)
	if !ok {
		return applyForm(form, value)
	}
	for _, option := range append(varying.options, varying.valueOf(&slotValue{})) {
		if _, err := applyForm(form, option); err != nil {
			return nil, err
		}
	}
	formed := c.addSlot(textKind, func(u *user, v *slotValue) {
		constant, _ := applyForm(form, varying.valueOf(&u.values[varying.place])) // It can be applied to all options.
		text, _ := textOf(constant)
		v.text = append(v.text[:0], text...)
		v.number, _ = strconv.ParseInt(text, 10, 64)
	})
	if form == "length" {
		formed.kind, formed.high = numberKind, math.MaxInt32
	}
	return formed, nil
}

// applyForm returns a form of a constant.
func applyForm(form string, constant any) (any, error) {
	text, isText := constant.(string)
	length, hasLength := lengthOf(constant)
	switch {
	case form == "upper" && isText:
		return strings.ToUpper(text), nil
	case form == "lower" && isText:
		return strings.ToLower(text), nil
	case form == "length" && hasLength:
		return json.Number(strconv.Itoa(length)), nil
	}
	return nil, fmt.Errorf("this value has no form %q; texts have upper, lower and length, lists and mappings length", form)
}

// lengthOf returns the characters of a text, or the items of a list or mapping.
func lengthOf(constant any) (length int, ok bool) {
	switch constant := constant.(type) {
	case string:
		return utf8.RuneCountInString(constant), true
	case []any:
		return len(constant), true
	case object:
		return len(constant), true
	}
	return 0, false
}
