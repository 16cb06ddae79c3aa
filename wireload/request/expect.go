package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"wirebench.dev/wireload/suggest"
	"wirebench.dev/wireload/variable"
)

// expectation says what the value at a path of a reply is.
type expectation struct {
	// keys are the path, and of is what the descriptors say of what it leads to.
	keys []string
	of   protoreflect.Descriptor
	// matcher is empty for equality.
	matcher string
	// expected is JSON.
	expected program
}

var matchers = []string{"empty", "count", "above", "matches"}

// expect compiles the expectations of a reply.
func (c *compiler) expect(expect field) {
	for _, each := range expect.each() {
		path, skipped := each.name, 0
		if c.onlyData && c.reply != nil {
			path, skipped = "data."+path, 1
		}
		keys, of, err := resolvePath(c.reply, path)
		each.check(err)
		tests, isMatcher := each.value.(object)
		if !isMatcher {
			tests = object{{"", each.value}}
		}
		for _, test := range tests {
			if isMatcher && !slices.Contains(matchers, test.name) {
				each.fail("there is no test %q; %s", test.name, suggest.Name(test.name, matchers))
			}
			var expected program
			expected.json(c.expand(each.at("", test.value)))
			c.expectations = append(c.expectations, expectation{keys[min(skipped, len(keys)):], of, test.name, expected})
		}
	}
}

// check compares a reply with what a request's values make of the expectation.
func (e *expectation) check(reply any, values []slotValue) error {
	text := e.expected.append(nil, values)
	expected, err := decodeJSON(text)
	if err != nil {
		return err
	}
	for _, actual := range at(reply, e.keys) {
		if !e.matches(actual, expected) {
			return fmt.Errorf("%s is %s, not %s", e.name(), show(actual), strings.TrimSpace(e.matcher+" "+shorten(text)))
		}
	}
	return nil
}

func (e *expectation) name() string { return cmp.Or(strings.Join(e.keys, "."), "the reply") }

func (e *expectation) matches(actual, expected any) bool {
	length, hasLength := 0, true
	switch actual := actual.(type) {
	case string:
		length = utf8.RuneCountInString(actual)
	case []any:
		length = len(actual)
	case map[string]any:
		length = len(actual)
	default:
		hasLength = false
	}
	switch e.matcher {
	case "empty":
		return (actual == nil || hasLength && length == 0) == (expected == true)
	case "count":
		return hasLength && holds(json.Number(strconv.Itoa(length)), expected)
	case "above":
		order, ok := compareNumbers(actual, expected)
		return ok && order > 0
	}
	return holds(normalize(actual, e.of), normalize(expected, e.of))
}

func keysOf(path string) []string {
	return strings.FieldsFunc(path, func(each rune) bool { return each == '.' })
}

// at returns what a reply has at a path, nil for nothing: many values where it has a *, which stands for all items of a list.
func at(value any, keys []string) []any {
	if len(keys) == 0 {
		return []any{value}
	}
	if keys[0] != "*" {
		return at(pick(value, keys[0]), keys[1:])
	}
	items, ok := value.([]any)
	if !ok {
		return []any{nil}
	}
	var all []any
	for _, each := range items {
		all = append(all, at(each, keys[1:])...)
	}
	return all
}

// pick returns a field of a mapping, or an item of a list by its place.
func pick(value any, name string) any {
	switch value := value.(type) {
	case []any:
		if place, err := strconv.Atoi(name); err == nil && 0 <= place && place < len(value) {
			return value[place]
		}
	case map[string]any:
		return value[name]
	}
	return nil
}

// holds says whether a value has all that is expected, and as many items. Whole numbers of 64 bits are texts in the JSON form
// of protobuf, which leaves out what is empty.
func holds(actual, expected any) bool {
	if actual == nil || expected == nil {
		return isEmpty(actual) && isEmpty(expected)
	}
	switch expected := expected.(type) {
	case []any:
		items, ok := actual.([]any)
		return ok && slices.EqualFunc(items, expected, holds)
	case map[string]any:
		for name, each := range expected {
			if !holds(pick(actual, name), each) {
				return false
			}
		}
		return true
	case string:
		if text, isText := actual.(string); isText {
			return text == expected
		}
	case json.Number:
	default: // A bool; a list or a mapping isn't equal to it.
		return actual == expected
	}
	order, isNumber := compareNumbers(actual, expected)
	return isNumber && order == 0
}

// compareNumbers compares two numbers, which may be given as texts.
func compareNumbers(a, b any) (order int, ok bool) {
	var numbers [2]*big.Float
	for i, each := range []any{a, b} {
		text, err := textOf(each)
		number, _, notNumber := big.ParseFloat(text, 10, 256, big.ToNearestEven)
		if err != nil || notNumber != nil {
			return 0, false
		}
		numbers[i] = number
	}
	return numbers[0].Cmp(numbers[1]), true
}

// decodeJSON keeps numbers as they are.
func decodeJSON(text []byte) (value any, err error) {
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, fmt.Errorf("the reply is not JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// encodeJSON returns the JSON of a value that came from JSON, or of a text.
func encodeJSON(value any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// shownMax is how much of a value an error has.
const shownMax = 80

func show(value any) string {
	if value == nil {
		return "missing"
	}
	return shorten(encodeJSON(value))
}

func shorten(text []byte) string {
	text = []byte(variable.Hide(string(text)))
	if len(text) > shownMax {
		return fmt.Sprintf("%.*s…", shownMax, text)
	}
	return string(text)
}
