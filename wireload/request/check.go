package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wirebench.dev/wireload/suggest"
)

// expectation says what the value at a path of a reply is.
type expectation struct {
	path string
	// matcher is empty for equality.
	matcher string
	// expected is expanded.
	expected any
}

var matchers = []string{"empty", "count", "above", "matches", "consecutive"}

// expect compiles the expectations of a reply.
func (c *compiler) expect(key string, expect ordered[template]) error {
	var wrong []error
	for _, each := range expect {
		tests, isMatcher := each.value.value.(object)
		if !isMatcher {
			tests = object{{"", each.value.value}}
		}
		for _, test := range tests {
			expected, err := c.expand(test.value)
			if isMatcher && !slices.Contains(matchers, test.name) {
				err = fmt.Errorf("there is no test %q; %s", test.name, suggest.Name(test.name, matchers))
			}
			wrong = append(wrong, atKey(joinKeys(key, each.name), err))
			c.expectations = append(c.expectations, expectation{each.name, test.name, expected})
		}
	}
	return errors.Join(wrong...)
}

// check compares a reply with what a request's values make of the expectation.
func (e *expectation) check(reply any, values []slotValue) error {
	expected := valueOf(e.expected, values)
	for _, actual := range at(reply, keysOf(e.path)) {
		if !e.matches(actual, expected) {
			return fmt.Errorf("%s is %s, not %s", e.name(), show(actual), strings.TrimSpace(e.matcher+" "+show(expected)))
		}
	}
	return nil
}

// checkContains wants a text in a reply.
func checkContains(reply []byte, expected any) error {
	text, err := textOf(expected)
	if err == nil && !bytes.Contains(reply, []byte(text)) {
		err = fmt.Errorf("the reply is %q, without %q", shorten(reply), shorten([]byte(text)))
	}
	return err
}

// checkConsecutive compares the first and the last item of a stream.
func (e *expectation) checkConsecutive(first, last any, items int) error {
	if e.matcher != "consecutive" {
		return nil
	}
	var ends [2]int64
	for i, item := range []any{first, last} {
		for _, found := range at(item, keysOf(e.path)) {
			text, _ := textOf(found)
			number, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return fmt.Errorf("%s is %s, not a whole number", e.name(), show(found))
			}
			ends[i] = number
		}
	}
	if ends[1]-ends[0] != int64(items-1) {
		return fmt.Errorf("%s goes from %d to %d in %d items", e.name(), ends[0], ends[1], items)
	}
	return nil
}

func (e *expectation) name() string {
	if e.path == "" {
		return "the reply"
	}
	return e.path
}

func (e *expectation) matches(actual, expected any) bool {
	switch e.matcher {
	case "empty":
		length, has := lengthOf(actual)
		return (actual == nil || actual == missing{} || has && length == 0) == (expected == true)
	case "count":
		length, has := lengthOf(actual)
		return has && equal(json.Number(strconv.Itoa(length)), expected)
	case "above":
		actual, _ := textOf(actual)
		expected, _ := textOf(expected)
		order, ok := compareNumbers(actual, expected)
		return ok && order > 0
	case "consecutive":
		return true // of streams: see checkConsecutive
	}
	return holds(actual, expected)
}

// missing stands for what a reply does not have.
type missing struct{}

func keysOf(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// at returns what a reply has at a path: many values where it has a *, which stands for all items of a list.
func at(value any, keys []string) []any {
	if len(keys) == 0 {
		return []any{value}
	}
	if keys[0] != "*" {
		return at(pick(value, keys[0]), keys[1:])
	}
	items, ok := value.([]any)
	if !ok {
		return []any{missing{}}
	}
	var all []any
	for _, each := range items {
		all = append(all, at(each, keys[1:])...)
	}
	return all
}

// pick returns a field of a mapping, or an item of a list by its place.
func pick(value any, name string) any {
	if items, ok := value.([]any); ok {
		if place, err := strconv.Atoi(name); err == nil && 0 <= place && place < len(items) {
			return items[place]
		}
	}
	fields, _ := value.(object)
	if found, ok := fields.get(name); ok {
		return found
	}
	return missing{}
}

// holds says whether a value has all that is expected, and as many items.
func holds(actual, expected any) bool {
	switch expected := expected.(type) {
	case []any:
		items, ok := actual.([]any)
		return ok && slices.EqualFunc(items, expected, holds)
	case object:
		return !slices.ContainsFunc(expected, func(each member[any]) bool {
			return !holds(pick(actual, each.name), each.value)
		})
	}
	return equal(actual, expected)
}

// equal compares scalars. Whole numbers of 64 bits are texts in the JSON form of protobuf.
func equal(actual, expected any) bool {
	if actual == nil || expected == nil {
		return actual == nil && expected == nil
	}
	actualText, actualErr := textOf(actual)
	expectedText, expectedErr := textOf(expected)
	if actualErr != nil || expectedErr != nil {
		return false
	}
	_, isText := actual.(string)
	_, expectsText := expected.(string)
	order, isNumber := compareNumbers(actualText, expectedText)
	return actualText == expectedText || (!isText || !expectsText) && isNumber && order == 0
}

// compareNumbers compares two numbers that are given as texts.
func compareNumbers(a, b string) (order int, ok bool) {
	wholeA, errA := strconv.ParseInt(a, 10, 64)
	wholeB, errB := strconv.ParseInt(b, 10, 64)
	if errA == nil && errB == nil {
		return cmp.Compare(wholeA, wholeB), true
	}
	floatA, errA := strconv.ParseFloat(a, 64)
	floatB, errB := strconv.ParseFloat(b, 64)
	return cmp.Compare(floatA, floatB), errA == nil && errB == nil
}

// valueOf returns an expanded value with the values of a request.
func valueOf(value any, values []slotValue) any {
	switch value := value.(type) {
	case slot:
		return value.valueOf(&values[value.place])
	case []any:
		items := make([]any, len(value))
		for i, each := range value {
			items[i] = valueOf(each, values)
		}
		return items
	case object:
		fields := object{}
		for _, each := range value {
			if inner := valueOf(each.value, values); inner != nil {
				fields = append(fields, member[any]{each.name, inner})
			}
		}
		return fields
	}
	return value
}

// shownMax is how much of a value an error has.
const shownMax = 80

func show(value any) string {
	if value == (missing{}) {
		return "missing"
	}
	return shorten([]byte(jsonOf(value)))
}

func shorten(text []byte) string {
	if len(text) > shownMax {
		return fmt.Sprintf("%.*s…", shownMax, text)
	}
	return string(text)
}
