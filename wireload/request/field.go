package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"wirebench.dev/wireload/suggest"
)

// keyError is an error at a key of an application file.
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return e.key + ": " + e.err.Error() }

func (e *keyError) Unwrap() error { return e.err }

// atKey returns an error with the key that it is at: further in, if it has one already. Joined errors get it each.
func atKey(key string, err error) error {
	switch inner := err.(type) { //nolint:errorlint // Wrapped ones say more than their key.
	case nil:
		return nil
	case *keyError:
		return &keyError{joinKeys(key, inner.key), inner.err}
	case interface{ Unwrap() []error }:
		var all []error
		for _, each := range inner.Unwrap() {
			all = append(all, atKey(key, each))
		}
		return errors.Join(all...)
	}
	return &keyError{key, err}
}

// field is a value in an application file.
type field struct {
	document *document
	key      string
	value    any
}

func (f field) fail(format string, values ...any) {
	f.document.fail(lineOf(&f.document.root, 1, f.key), f.key, format, values...)
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

// readable reads a value as what it must be, and keeps a mistake if it isn't.
type readable interface{ read(f field) }

// read reads the value into a readable, or what a pointer points to; or a function does.
func (f field) read(into any) {
	ok, what := true, ""
	switch into := into.(type) {
	case readable:
		into.read(f)
	case func(field):
		into(f)
	case *template:
		into.value = f.value
	case *string:
		what = "text"
		*into, ok = f.value.(string)
	case *bool:
		what = "true or false"
		*into, ok = f.value.(bool)
	case *int64:
		what = "a whole number"
		number, _ := f.value.(json.Number)
		var err error
		*into, err = number.Int64()
		ok = err == nil
	}
	if !ok {
		f.failType(what)
	}
}

// keys reads a mapping with these keys and no others. Null is the same as no key.
func (f field) keys(known map[string]any, required ...string) {
	given := f.each()
	for _, each := range given {
		into, ok := known[each.name]
		switch {
		case !ok:
			each.value.fail("no such key; %s", suggest.Name(each.name, slices.Sorted(maps.Keys(known))))
		case each.value.value != nil:
			each.value.read(into)
		}
	}
	for _, name := range required {
		if found, _ := given.get(name); found.value == nil {
			f.fail("%s is missing", name)
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
		all = append(all, member[field]{each.name, f.at(each.name, each.value)})
	}
	return all
}

// at returns a field further in.
func (f field) at(key string, value any) field { return field{f.document, joinKeys(f.key, key), value} }

// ordered is a mapping with any keys. It keeps their order: the first payload is the default, and inputs use those before
// them.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

func (o *ordered[T]) read(f field) {
	for _, each := range f.each() {
		var value T
		each.value.read(&value)
		*o = append(*o, member[T]{each.name, value})
	}
}

func (o ordered[T]) get(name string) (value T, ok bool) {
	for _, each := range o {
		if each.name == name {
			return each.value, true
		}
	}
	return value, false
}

func (o ordered[T]) names() (names []string) {
	for _, each := range o {
		names = append(names, each.name)
	}
	return names
}

// named is a mapping whose keys have a form.
type named struct {
	form *regexp.Regexp
	into readable
}

func (n named) read(f field) {
	fields, _ := f.value.(object)
	for _, each := range fields {
		if !n.form.MatchString(each.name) {
			f.at(each.name, nil).fail("the name must match %s", n.form)
		}
	}
	n.into.read(f)
}

// list is a list, or a value in place of a list of one.
type list[T any] []T

func (l *list[T]) read(f field) {
	items, isList := f.value.([]any)
	if !isList {
		items = []any{f.value}
	}
	for i, each := range items {
		var value T
		f.at(fmt.Sprintf("[%d]", i), each).read(&value)
		*l = append(*l, value)
	}
}

// pattern is a text of a form.
type pattern struct {
	into *string
	form *regexp.Regexp
	what string
}

func (p pattern) read(f field) {
	text, _ := f.value.(string)
	if !p.form.MatchString(text) {
		f.failType(p.what)
	}
	*p.into = text
}
