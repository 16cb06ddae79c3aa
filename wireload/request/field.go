package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"wirebench.dev/wireload/suggest"
)

// field is a value in an application file. It may be a template: its texts may have placeholders.
type field struct {
	document *document
	key      string
	value    any
}

// at returns a field further in.
func (f field) at(key string, value any) field { return field{f.document, joinKeys(f.key, key), value} }

func (f field) fail(format string, values ...any) {
	f.document.fail(f.document.lineOf(f.key), f.key, format, values...)
}

// check keeps an error as a mistake.
func (f field) check(err error) {
	if err != nil {
		f.fail("%v", err)
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
	case *field:
		*into = f
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

// ordered is a mapping with any keys. It keeps their order: the first payload is the default, and inputs use those before
// them.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

type object = ordered[any]

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
	for _, each := range f.each() {
		if !n.form.MatchString(each.name) {
			each.value.fail("the name must match %s", n.form)
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
