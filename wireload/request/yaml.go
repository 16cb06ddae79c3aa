package request

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// fileBytesMax bounds the time and the memory that a file takes. The library bounds what aliases stand for.
const fileBytesMax = 1_000_000

// document is an application file: on which lines its keys stand, and what is wrong with it.
type document struct {
	path     string
	lines    map[string]int
	mistakes []Mistake
}

// Mistake is what is wrong in an application file, at a line and a key: operations.users.get.rest.request.
type Mistake struct {
	Line      int
	Key, Text string
}

// String returns `line: key: text`.
func (m Mistake) String() string {
	if m.Key == "" {
		return fmt.Sprintf("%d: %s", m.Line, m.Text)
	}
	return fmt.Sprintf("%d: %s: %s", m.Line, m.Key, m.Text)
}

func (d *document) fail(line int, key, format string, values ...any) {
	d.mistakes = append(d.mistakes, Mistake{line, key, fmt.Sprintf(format, values...)})
}

// sortMistakes sorts them by line, each once.
func (d *document) sortMistakes() []Mistake {
	slices.SortFunc(d.mistakes, func(one, other Mistake) int {
		return cmp.Or(cmp.Compare(one.Line, other.Line), cmp.Compare(one.Key, other.Key), cmp.Compare(one.Text, other.Text))
	})
	d.mistakes = slices.Compact(d.mistakes)
	return d.mistakes
}

// err returns the first mistake, and says how many more there are.
func (d *document) err() error {
	mistakes, more := d.sortMistakes(), ""
	if len(mistakes) == 0 {
		return nil
	}
	if len(mistakes) > 1 {
		more = fmt.Sprintf("; %d more: wireload check %s", len(mistakes)-1, d.path)
	}
	return fmt.Errorf("%s:%s%s", d.path, mistakes[0], more)
}

// parse returns the value in a text, as templates have it: nil, bool, json.Number, string, []any or object.
func (d *document) parse(text []byte) any {
	switch {
	case len(text) > fileBytesMax:
		d.fail(1, "", "the file is longer than %d bytes", fileBytesMax)
		return nil
	case !utf8.Valid(text):
		d.fail(1, "", "not UTF-8 text")
		return nil
	}
	var root yaml.Node
	err := yaml.Load(text, &root)
	if err == nil { // It finds wrong tags and merges, and aliases that stand for too much.
		err = root.Load(new(any), yaml.WithUniqueKeys(false)) // That takes it the square of their number.
	}
	var found *yaml.LoadError // the first one
	switch {
	case err == nil:
		d.lines = map[string]int{}
		return d.read(&root, "")
	case !errors.As(err, &found):
		found = &yaml.LoadError{Message: err.Error()}
	case strings.Contains(found.Message, "'}'"):
		found.Message += "; quote texts that have braces"
	}
	d.fail(max(1, found.Mark.Line), "", "not valid YAML: %s", found.Message)
	return nil
}

func (d *document) read(node *yaml.Node, key string) any {
	switch node.Kind {
	case yaml.DocumentNode:
		return d.read(node.Content[0], key)
	case yaml.AliasNode:
		return d.read(node.Alias, key)
	case yaml.MappingNode:
		return d.readMapping(node, key)
	case yaml.SequenceNode:
		items := make([]any, len(node.Content))
		for i, each := range node.Content {
			place := fmt.Sprintf("%s[%d]", key, i)
			d.lines[place] = each.Line
			items[i] = d.read(each, place)
		}
		return items
	}
	return d.readScalar(node)
}

// readMapping keeps the order of the keys.
func (d *document) readMapping(node *yaml.Node, at string) object {
	fields, isKnown := object{}, map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, place := node.Content[i], joinKeys(at, node.Content[i].Value)
		d.lines[place] = key.Line
		switch value := d.read(node.Content[i+1], place); {
		case key.ShortTag() != "!!str":
			d.fail(key.Line, "", "a key must be a word: quote %q", key.Value)
		case isKnown[key.Value]:
			d.fail(key.Line, "", "%s appears twice", key.Value)
		default:
			fields, isKnown[key.Value] = append(fields, member{key.Value, value}), true
		}
	}
	return fields
}

// What YAML 1.2 takes for a number: https://yaml.org/spec/1.2.2/#103-core-schema
var numbers = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|` +
	`[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)

// readScalar returns a scalar as YAML 1.2 has it: 1_000 and dates are texts. Numbers keep their form if JSON has it. One that
// begins with a zero is octal in YAML 1.1, and decimal in YAML 1.2.
func (d *document) readScalar(node *yaml.Node) any {
	switch node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(node.Value, "true")
	case "!!int", "!!float":
		switch digits := strings.TrimLeft(node.Value, "+-"); {
		case !numbers.MatchString(node.Value):
			return node.Value
		case json.Valid([]byte(node.Value)):
			return json.Number(node.Value)
		case len(digits) > 1 && digits[0] == '0' && '0' <= digits[1] && digits[1] <= '9':
			d.fail(node.Line, "", "%s has one value in YAML 1.1 and another in 1.2: quote it, or leave out the zero", node.Value)
			return nil
		}
		var number any
		err := node.Load(&number)
		encoded, notFinite := json.Marshal(number)
		if err != nil || notFinite != nil {
			d.fail(node.Line, "", "%s is not a finite number", node.Value)
		}
		return json.Number(encoded)
	}
	return node.Value
}

// joinKeys returns the way to a key in what stands at another one. What is in a list begins with its place, as [0].
func joinKeys(at, key string) string {
	if at == "" || key == "" || strings.HasPrefix(key, "[") {
		return at + key
	}
	return at + "." + key
}

// lineOf returns the line of a key, or else of the nearest one around it.
func (d *document) lineOf(key string) int {
	for key != "" {
		if line, ok := d.lines[key]; ok {
			return line
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return 1
}
