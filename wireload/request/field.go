package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"wirebench.dev/wireload/suggest"
	"wirebench.dev/wireload/variable"
)

// keyError is an error at a key of an application file.
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return e.key + ": " + e.err.Error() }

func (e *keyError) Unwrap() error { return e.err }

// atKey returns an error with the key that it is at: further in, if it has one already.
func atKey(key string, err error) error {
	switch inner := err.(type) { //nolint:errorlint // Wrapped ones say more than their key.
	case nil:
		return nil
	case *keyError:
		return &keyError{joinKeys(key, inner.key), inner.err}
	}
	return &keyError{key, err}
}

// field is a value in an application file. Its methods read it as what it must be; they keep a mistake if it isn't, and
// return a zero.
type field struct {
	reader *yamlReader
	key    string
	value  any
}

func (f field) fail(format string, values ...any) {
	f.reader.fail(f.reader.lineOf(f.key), f.key, format, values...)
}

// reject keeps an error as a mistake.
func (f field) reject(err error) {
	inner, hasKey := atKey(f.key, err).(*keyError) //nolint:errorlint // It is one, unless err is nil.
	if hasKey {
		field{f.reader, inner.key, nil}.fail("%v", inner.err)
	}
}

// failType says what a value must be, and what it is if that is short.
func (f field) failType(what string) {
	switch f.value.(type) {
	case nil:
		f.fail("must be %s (it is nothing)", what)
	case object, []any:
		f.fail("must be %s", what)
	default:
		f.fail("must be %s (it is %s)", what, show(f.value))
	}
}

// keys reads a mapping by what reads its keys. A nil one takes any value.
func (f field) keys(known map[string]func(field)) {
	for _, each := range f.each() {
		read, ok := known[each.name]
		switch {
		case !ok:
			each.value.fail("no such key; %s", suggest.Name(each.name, slices.Sorted(maps.Keys(known))))
		case read != nil:
			read(each.value)
		}
	}
}

// each returns what a mapping has.
func (f field) each() (all ordered[field]) {
	fields, ok := f.value.(object)
	if !ok {
		f.failType("a mapping of keys to values")
	}
	for _, each := range fields {
		all = append(all, member[field]{each.name, field{f.reader, joinKeys(f.key, each.name), each.value}})
	}
	return all
}

// readEach reads a mapping with any keys of a form.
func readEach[T any](f field, form *regexp.Regexp, read func(field) T) (all ordered[T]) {
	for _, each := range f.each() {
		if !form.MatchString(each.name) {
			each.value.fail("the name must match %s", form)
		}
		all = append(all, member[T]{each.name, read(each.value)})
	}
	return all
}

// oneOrMore returns the items of a list, or a value that isn't a list.
func (f field) oneOrMore() (all []field) {
	items, ok := f.value.([]any)
	if !ok {
		return []field{f}
	}
	for i, each := range items {
		all = append(all, field{f.reader, joinKeys(f.key, fmt.Sprintf("[%d]", i)), each})
	}
	return all
}

func (f field) text() string {
	text, ok := f.value.(string)
	if !ok {
		f.failType("text")
	}
	return text
}

// optionalText is nil if the value is null.
func (f field) optionalText() *string {
	if f.value == nil {
		return nil
	}
	text := f.plainText()
	return &text
}

// plainText is a text without variables of the environment.
func (f field) plainText() string {
	f.rejectVariables(f.value)
	return f.text()
}

// match reads a text of a form; null is an empty text.
func (f field) match(form *regexp.Regexp, what string) string {
	if f.value == nil {
		return ""
	}
	text := f.plainText()
	if _, isText := f.value.(string); isText && !form.MatchString(text) {
		f.failType(what)
	}
	return text
}

func (f field) bool() bool {
	value, ok := f.value.(bool)
	if !ok {
		f.failType("true or false")
	}
	return value
}

func (f field) whole() int64 {
	number, isNumber := f.value.(json.Number)
	whole, err := strconv.ParseInt(number.String(), 10, 64)
	if !isNumber || err != nil {
		f.failType("a whole number")
	}
	return whole
}

// template is any value, without variables of the environment.
func (f field) template() template {
	f.rejectVariables(f.value)
	return template{f.value}
}

// count is a number, or a text with placeholders.
func (f field) count() template {
	_, isText := f.value.(string)
	_, isNumber := f.value.(json.Number)
	switch {
	case isNumber:
		f.whole()
	case !isText:
		f.failType("a whole number, or a placeholder")
	}
	return template{f.value}
}

func (f field) rejectVariables(value any) {
	switch value := value.(type) {
	case string:
		if found := variable.Pattern.FindString(value); found != "" {
			f.fail("%s: only headers and metadata take variables", found)
		}
	case []any:
		for _, each := range value {
			f.rejectVariables(each)
		}
	case object:
		for _, each := range value {
			f.rejectVariables(each.value)
		}
	}
}
