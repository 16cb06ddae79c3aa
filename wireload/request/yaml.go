package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

const (
	// fileBytesMax, depthMax and valuesMax bound the memory that a file takes; aliases count as what they stand for.
	fileBytesMax = 1_000_000
	depthMax     = 100
	valuesMax    = 1_000_000
	// mistakesMax is how many are kept.
	mistakesMax = 1000
)

// yamlReader reads a file as YAML 1.1, which is what PyYAML reads: wirebench reads the same file. Values are those of
// templates: nil, bool, json.Number, string, []any and object.
type yamlReader struct {
	// lines are those of keys and items, by the way to them: operations.a.same[0].
	lines    map[string]int
	mistakes []Mistake
	// anchored are the values that aliases stand for; those being read have a count of 0.
	anchored map[*yaml.Node]counted
}

// counted is a value and the number of values in it.
type counted struct {
	value any
	count int
}

// readYAML returns the value in a text.
func readYAML(text []byte) (any, *yamlReader) {
	r := &yamlReader{lines: map[string]int{"": 1}, anchored: map[*yaml.Node]counted{}}
	var root yaml.Node
	var broken *yaml.LoadError
	err := yaml.Load(text, &root)
	switch {
	case len(text) > fileBytesMax:
		r.fail(1, "", "the file is longer than %d bytes", fileBytesMax)
	case !utf8.Valid(text):
		r.fail(1, "", "not UTF-8 text")
	case errors.As(err, &broken) && broken.Mark.Line > 0:
		hint := ""
		if strings.Contains(broken.Message, "'}'") {
			hint = "; quote texts that have braces"
		}
		r.fail(broken.Mark.Line, "", "not valid YAML: %s%s", broken.Message, hint)
	case err != nil:
		r.fail(1, "", "not valid YAML: %v", err)
	default:
		value, count := r.read(&root, "", 0)
		if count <= valuesMax {
			return value, r
		}
		r.fail(1, "", "its aliases stand for more than %d values", valuesMax)
	}
	return nil, r
}

func (r *yamlReader) fail(line int, key, format string, values ...any) {
	if len(r.mistakes) < mistakesMax {
		r.mistakes = append(r.mistakes, Mistake{line, key, fmt.Sprintf(format, values...)})
	}
}

// read returns the value of a node, and the number of values in it.
func (r *yamlReader) read(node *yaml.Node, at string, depth int) (value any, count int) {
	if depth > depthMax {
		r.fail(node.Line, at, "nested too deeply")
		return nil, 1
	}
	if _, ok := r.lines[at]; !ok {
		r.lines[at] = node.Line
	}
	if node.Anchor != "" {
		r.anchored[node] = counted{}
		defer func() { r.anchored[node] = counted{value, count} }()
	}
	count = 1
	switch node.Kind {
	case yaml.DocumentNode:
		return r.read(node.Content[0], at, depth)
	case yaml.AliasNode:
		found := r.anchored[node.Alias]
		if found.count == 0 {
			r.fail(node.Line, at, "*%s stands for itself", node.Value)
			return nil, 1
		}
		return found.value, found.count
	case yaml.MappingNode:
		r.rejectTag(node, at, "!!map")
		return r.readMapping(node, at, depth)
	case yaml.SequenceNode:
		r.rejectTag(node, at, "!!seq")
		items := []any{}
		for i, each := range node.Content {
			item, inner := r.read(each, fmt.Sprintf("%s[%d]", at, i), depth+1)
			items, count = append(items, item), min(count+inner, valuesMax+1)
		}
		return items, count
	}
	return r.readScalar(node, at), 1
}

func (r *yamlReader) rejectTag(node *yaml.Node, at, tag string) {
	if node.Style&yaml.TaggedStyle != 0 && node.Tag != tag {
		r.fail(node.Line, at, "the tag %s isn't supported", node.Tag)
	}
}

// readMapping puts what is merged first; keys of the mapping itself replace merged ones in their place.
func (r *yamlReader) readMapping(node *yaml.Node, at string, depth int) (object, int) {
	var merged, own object
	known, count := map[string]bool{}, 1
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, given := node.Content[i], node.Content[i+1]
		kind, inner := kindOf(key), joinKeys(at, key.Value)
		switch {
		case kind != "!!str" && kind != "!!merge":
			r.fail(key.Line, at, "a key must be a word: quote %q", key.Value)
			continue
		case known[key.Value]:
			r.fail(key.Line, inner, "appears twice")
			continue
		}
		known[key.Value] = true
		r.lines[inner] = key.Line
		value, more := r.read(given, inner, depth+1)
		count = min(count+more, valuesMax+1)
		if kind == "!!str" {
			own = append(own, member[any]{key.Value, value})
			continue
		}
		var ok bool
		if merged, ok = mergedIn(value); !ok {
			r.fail(key.Line, inner, "must be a mapping, or a list of mappings")
		}
	}
	fields, places := object{}, map[string]int{}
	for _, each := range append(merged, own...) {
		if place, isReplaced := places[each.name]; isReplaced {
			fields[place].value = each.value
			continue
		}
		places[each.name] = len(fields)
		fields = append(fields, each)
	}
	return fields, count
}

// mergedIn returns what << merges; of a list, the first mappings override the last.
func mergedIn(value any) (merged object, ok bool) {
	items, isList := value.([]any)
	if !isList {
		merged, ok = value.(object)
		return slices.Clip(merged), ok
	}
	for _, each := range slices.Backward(items) {
		fields, ok := each.(object)
		if !ok {
			return nil, false
		}
		merged = append(merged, fields...)
	}
	return slices.Clip(merged), true
}

// joinKeys returns the way to a key in what stands at another one. What is in a list begins with its place, as [0].
func joinKeys(at, key string) string {
	if at == "" || strings.HasPrefix(key, "[") {
		return at + key
	}
	return at + "." + key
}

// lineOf returns the line of a key, or else of the nearest one around it.
func (r *yamlReader) lineOf(key string) int {
	for {
		if line, ok := r.lines[key]; ok {
			return line
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
}

// scalars are YAML 1.1's forms of plain scalars, as PyYAML has them: https://yaml.org/type/.
var scalars = []struct {
	tag  string
	form *regexp.Regexp
}{
	{"!!null", regexp.MustCompile(`^(~|null|Null|NULL|)$`)},
	{"!!bool", regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)},
	{"!!int", regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)$`)},
	{"!!float", regexp.MustCompile(`^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)},
	{"!!timestamp", regexp.MustCompile(`^[0-9]{4}-([0-9]{2}-[0-9]{2}|[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9].*)$`)},
	{"!!merge", regexp.MustCompile(`^<<$`)},
}

// kindOf returns the tag of a node: its own, or that of its form.
func kindOf(node *yaml.Node) string {
	switch {
	case node.Kind != yaml.ScalarNode:
		return ""
	case node.Style&yaml.TaggedStyle != 0:
		return node.Tag
	case node.Style != 0:
		return "!!str"
	}
	for _, each := range scalars {
		if each.form.MatchString(node.Value) {
			return each.tag
		}
	}
	return "!!str"
}

// readScalar returns a scalar; a date is a text.
func (r *yamlReader) readScalar(node *yaml.Node, at string) (value any) {
	kind, ok := kindOf(node), true
	switch kind {
	case "!!null":
		return nil
	case "!!bool":
		text := strings.ToLower(node.Value)
		value = slices.Contains([]string{"yes", "true", "on"}, text)
		ok = value == true || slices.Contains([]string{"no", "false", "off"}, text)
	case "!!int":
		value, ok = readInt(node.Value)
	case "!!float":
		value, ok = readFloat(node.Value)
	case "!!str", "!!timestamp", "!!merge":
		return node.Value
	default:
		r.fail(node.Line, at, "the tag %s isn't supported", kind)
		return nil
	}
	if !ok {
		r.fail(node.Line, at, "%q is not a finite number or a valid %s", node.Value, strings.TrimPrefix(kind, "!!"))
	}
	return value
}

// readInt reads decimal, binary, octal (010), hexadecimal and sexagesimal (1:30) numbers of any size.
func readInt(text string) (json.Number, bool) {
	digits := strings.ReplaceAll(text, "_", "")
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign = "-"
	}
	digits = strings.TrimLeft(digits, "+-")
	base := 10
	switch {
	case strings.HasPrefix(digits, "0b"), strings.HasPrefix(digits, "0x"), len(digits) > 1 && digits[0] == '0':
		base = 0
	case strings.Contains(digits, ":"):
		number, ok := readSexagesimal(digits)
		return json.Number(sign + strconv.FormatFloat(number, 'f', 0, 64)), ok
	}
	number, ok := new(big.Int).SetString(sign+digits, base)
	if !ok {
		return "0", false
	}
	return json.Number(number.String()), true
}

func readSexagesimal(text string) (number float64, ok bool) {
	for part := range strings.SplitSeq(text, ":") {
		digit, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, false
		}
		number = number*60 + digit
	}
	return number, true
}

func readFloat(text string) (json.Number, bool) {
	digits := strings.ToLower(strings.ReplaceAll(text, "_", ""))
	number, err := strconv.ParseFloat(digits, 64)
	if strings.Contains(digits, ":") {
		var ok bool
		if number, ok = readSexagesimal(strings.TrimLeft(digits, "+-")); !ok {
			return "0", false
		}
		if digits[0] == '-' {
			number = -number
		}
	} else if err != nil {
		return "0", false
	}
	encoded, err := json.Marshal(number)
	if err != nil { // JSON has no infinite numbers.
		return "0", false
	}
	if written := string(encoded); strings.ContainsAny(written, ".e") {
		return json.Number(written), true
	}
	return json.Number(string(encoded) + ".0"), true
}
