package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// template is a JSON value whose texts may have placeholders: nil, bool, json.Number, string, []any or object.
//
// Expanded, its placeholders are replaced: by constants, which are such values again, and by number, text, choice and
// concat where a value varies from request to request.
type template struct {
	value any
	given bool
}

type object = ordered[any]

// number is the whole number in a slot, plus add. It is from low to high.
type number struct {
	slot           int
	add, low, high int64
}

// text is text in a slot that needs no escapes in JSON: random letters and digits, or the base64 of random bytes.
type text struct {
	slot int
	// isBytes says that the slot has the bytes too.
	isBytes bool
	// isInURL says that its characters have to be escaped.
	isInURL bool
}

// choice is one of several constants; the slot has its index.
type choice struct {
	slot int
	of   []any
}

// concat is text of several parts: string, number, text and choice of strings.
type concat []any

func (t *template) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := decodeValue(decoder)
	*t = template{value, true}
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

var placeholder = regexp.MustCompile(`\{([a-z_][a-z0-9_]*)(?:\|([a-z]+))?\}`)

// expandedMax bounds what an operation's templates expand to, in nodes and bytes: a few nested inputs could fill
// the memory.
const expandedMax = 64 << 20

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
		return c.expandText(template, unchanged)
	case []any:
		items := make([]any, len(template))
		for i, each := range template {
			var err error
			if items[i], err = c.expand(each); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return items, nil
	case object:
		fields := make(object, 0, len(template))
		for _, each := range template {
			value, err := c.expand(each.value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", each.name, err)
			}
			if value != nil {
				fields = append(fields, member[any]{each.name, value})
			}
		}
		return fields, nil
	}
	return template, nil
}

// expandText replaces the placeholders in a text by texts, with escape applied to them.
func (c *compiler) expandText(template string, escape func(string) string) (any, error) {
	var parts concat
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(template, -1) {
		parts = parts.join(template[from:at[0]])
		form := ""
		if at[4] >= 0 {
			form = template[at[4]:at[5]]
		}
		value, err := c.resolve(template[at[2]:at[3]], form)
		if err != nil {
			return nil, err
		}
		if parts, err = parts.joinText(value, escape); err != nil {
			return nil, fmt.Errorf("%s: %w", template[at[0]:at[1]], err)
		}
		from = at[1]
	}
	parts = parts.join(template[from:])
	if c.size += len(template); c.size > expandedMax {
		return nil, errTooLarge
	}
	switch {
	case len(parts) == 0:
		return "", nil
	case len(parts) == 1:
		if constant, ok := parts[0].(string); ok {
			return constant, nil
		}
	}
	return parts, nil
}

// join appends constant text.
func (parts concat) join(constant string) concat {
	if constant == "" {
		return parts
	}
	if last := len(parts) - 1; last >= 0 {
		if before, ok := parts[last].(string); ok {
			parts[last] = before + constant
			return parts
		}
	}
	return append(parts, constant)
}

// joinText appends the text of an expanded value, escaped.
func (parts concat) joinText(value any, escape func(string) string) (concat, error) {
	switch value := value.(type) {
	case number:
		return append(parts, value), nil
	case text:
		value.isInURL = escape("+") != "+"
		return append(parts, value), nil
	case choice:
		escaped, err := value.mapped(func(option any) (any, error) {
			constant, err := textOf(option)
			return escape(constant), err
		})
		return append(parts, escaped), err
	case concat:
		var err error
		for _, each := range value {
			if parts, err = parts.joinText(each, escape); err != nil {
				return nil, err
			}
		}
		return parts, nil
	}
	constant, err := textOf(value)
	return parts.join(escape(constant)), err
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

// mapped returns the same choice of what the constants become.
func (c choice) mapped(change func(any) (any, error)) (any, error) {
	changed := make([]any, len(c.of))
	for i, each := range c.of {
		var err error
		if changed[i], err = change(each); err != nil {
			return nil, err
		}
	}
	return choice{c.slot, changed}, nil
}

func unchanged(text string) string { return text }

// escapeURL escapes a value for a path or a query. A + would be read as a space in a query, and as itself in a path.
func escapeURL(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

// resolve returns what a placeholder stands for.
func (c *compiler) resolve(name, form string) (any, error) {
	value, ok := c.known[name]
	if !ok {
		return nil, fmt.Errorf("there is no input %q before it", name)
	}
	if c.size += c.sizes[name]; c.size > expandedMax {
		return nil, errTooLarge
	}
	if form == "" {
		return value, nil
	}
	formed, err := c.applyForm(form, value)
	if err != nil {
		return nil, fmt.Errorf("{%s|%s}: %w", name, form, err)
	}
	return formed, nil
}

// applyForm returns a form of an expanded value.
func (c *compiler) applyForm(form string, value any) (any, error) {
	if options, ok := value.(choice); ok {
		return options.mapped(func(option any) (any, error) { return c.applyForm(form, option) })
	}
	switch form {
	case "upper", "lower":
		return c.changeCase(form, value)
	case "length":
		return c.lengthOf(value)
	}
	return nil, errors.New("the forms are upper, lower and length")
}

// changeCase returns a text in another case; for random text it allocates with each request.
func (c *compiler) changeCase(form string, value any) (any, error) {
	change := bytes.ToUpper
	if form == "lower" {
		change = bytes.ToLower
	}
	switch value := value.(type) {
	case string:
		return string(change([]byte(value))), nil
	case text:
		return text{slot: c.addSlot(func(u *user, v *slotValue) {
			v.text = append(v.text[:0], change(u.values[value.slot].text)...)
		})}, nil
	case concat:
		changed := slices.Clone(value)
		for i, each := range value {
			if _, ok := each.(number); ok {
				continue
			}
			var err error
			if changed[i], err = c.applyForm(form, each); err != nil {
				return nil, err
			}
		}
		return changed, nil
	}
	return nil, errors.New("only a text has it")
}

func (c *compiler) lengthOf(value any) (any, error) {
	length := 0
	switch value := value.(type) {
	case string:
		length = utf8.RuneCountInString(value)
	case []any:
		length = len(value)
	case object:
		length = len(value)
	case text, concat:
		inner := textProgram(value)
		slot := c.addSlot(func(u *user, v *slotValue) {
			v.text = inner.append(v.text[:0], u.values)
			v.number = int64(utf8.RuneCount(v.text))
		})
		return number{slot: slot, high: math.MaxInt32}, nil
	default:
		return nil, errors.New("only a text, a list or a mapping has it")
	}
	return json.Number(strconv.Itoa(length)), nil
}
