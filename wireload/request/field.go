package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"wirebench.dev/wireload/suggest"
)

// field is a value in an application file, at a key. It may be a template: its texts may have placeholders.
type field struct {
	document *document
	key      string
	// name is the last part of the key.
	name string
	// value is nil, bool, json.Number, string, []any or object.
	value any
}

// object is a mapping. It keeps the order of its keys: the first payload is the default, and inputs use those before them.
type object []member

type member struct {
	name  string
	value any
}

func (o object) get(name string) (value any, ok bool) {
	for _, each := range o {
		if each.name == name {
			return each.value, true
		}
	}
	return nil, false
}

// at returns a field further in.
func (f field) at(name string, value any) field {
	return field{f.document, joinKeys(f.key, name), name, value}
}

// get returns what a mapping has under a name; nil if it has nothing.
func (f field) get(name string) field {
	fields, _ := f.value.(object)
	value, _ := fields.get(name)
	return f.at(name, value)
}

// getOr returns a value in place of nothing.
func (f field) getOr(name string, value any) field {
	found := f.get(name)
	if found.value == nil {
		found.value = value
	}
	return found
}

func (f field) text(name string) string {
	text, _ := f.get(name).value.(string)
	return text
}

// whole returns a whole number; 0 if it isn't one.
func (f field) whole() int64 { return wholeOf(f.value) }

func (f field) is(name string) bool { return f.get(name).value == true }

// each returns what a mapping or a list has.
func (f field) each() (all []field) {
	switch value := f.value.(type) {
	case object:
		for _, each := range value {
			all = append(all, f.at(each.name, each.value))
		}
	case []any:
		for i, each := range value {
			all = append(all, f.at(fmt.Sprintf("[%d]", i), each))
		}
	}
	return all
}

// list returns the items of a list, or the only one, which may stand in place of it.
func (f field) list(name string) []field {
	found := f.get(name)
	if _, isList := found.value.([]any); isList || found.value == nil {
		return found.each()
	}
	return []field{found}
}

func names(fields []field) (all []string) {
	for _, each := range fields {
		all = append(all, each.name)
	}
	return all
}

func (f field) fail(format string, values ...any) {
	f.document.fail(f.document.lineOf(f.key), f.key, format, values...)
}

// check keeps an error as a mistake.
func (f field) check(err error) {
	if err != nil {
		f.fail("%v", err)
	}
}

func (f field) failType(what string) {
	f.fail("must be %s (it is %s)", what, shorten([]byte(jsonOf(f.value))))
}

// wholeOf returns a whole number; 0 if it isn't one.
func wholeOf(value any) int64 {
	number, _ := value.(json.Number)
	whole, _ := number.Int64()
	return whole
}

// shape says what a value must be.
type shape struct {
	// is reports whether it is, and what says so in mistakes.
	is   func(value any) bool
	what string
	// keys are those of a mapping. It must have those that are required.
	keys     map[string]*shape
	required []string
	// each is the shape of whatever a mapping has, under names of a form.
	each *shape
	form *regexp.Regexp
	// item is the shape of a list's items, or of the only one, which may stand in place of the list.
	item *shape
	// rule finds what else is wrong.
	rule func(f field)
}

// validate keeps what is wrong with a value as mistakes. In a mapping with certain keys, null is the same as no key.
func (s *shape) validate(f field) {
	_, isMapping := f.value.(object)
	_, isList := f.value.([]any)
	switch {
	case s.is != nil && !s.is(f.value):
		f.failType(s.what)
		return
	case (s.keys != nil || s.each != nil) && !isMapping:
		f.failType("a mapping of keys to values")
		return
	case s.item != nil && !isList:
		s.item.validate(f)
	case s.keys != nil || s.each != nil || s.item != nil:
		for _, each := range f.each() {
			s.validateEach(each)
		}
	}
	for _, name := range s.required {
		if f.get(name).value == nil {
			f.fail("%s is missing", name)
		}
	}
	if s.rule != nil {
		s.rule(f)
	}
}

func (s *shape) validateEach(f field) {
	inner, isKnown := s.keys[f.name]
	switch {
	case s.item != nil:
		s.item.validate(f)
	case s.each != nil:
		if s.form != nil && !s.form.MatchString(f.name) {
			f.fail("the name must match %s", s.form)
		}
		s.each.validate(f)
	case isKnown && f.value != nil:
		inner.validate(f)
	case !isKnown:
		f.fail("no such key; %s", suggest.Name(f.name, slices.Sorted(maps.Keys(s.keys))))
	}
}
