package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

const (
	// These bound the time and the memory that a file takes. The library bounds what aliases stand for.
	fileBytesMax = 1_000_000
	depthMax     = 100
	mistakesMax  = 1000
)

// document is an application file: its text as YAML, and what is wrong with it.
type document struct {
	path     string
	root     yaml.Node
	mistakes []Mistake
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
	err := yaml.Load(text, &d.root)
	if err == nil { // It finds wrong tags and merges, and aliases that stand for too much.
		err = d.root.Load(new(any), yaml.WithUniqueKeys(false)) // That takes it the square of their number.
	}
	var several *yaml.LoadErrors
	var single *yaml.LoadError
	switch {
	case errors.As(err, &several):
		for _, each := range several.Errors {
			d.failYAML(each)
		}
	case errors.As(err, &single):
		d.failYAML(single)
	case err != nil:
		d.fail(1, "", "not valid YAML: %v", err)
	default:
		return d.read(&d.root, 0)
	}
	return nil
}

func (d *document) fail(line int, key, format string, values ...any) {
	if len(d.mistakes) < mistakesMax {
		d.mistakes = append(d.mistakes, Mistake{line, key, fmt.Sprintf(format, values...)})
	}
}

func (d *document) failYAML(err *yaml.LoadError) {
	hint := ""
	if strings.Contains(err.Message, "'}'") {
		hint = "; quote texts that have braces"
	}
	d.fail(max(1, err.Mark.Line), "", "not valid YAML: %s%s", err.Message, hint)
}

func (d *document) read(node *yaml.Node, depth int) any {
	if depth > depthMax {
		d.fail(node.Line, "", "nested too deeply")
		return nil
	}
	switch node.Kind {
	case yaml.DocumentNode:
		return d.read(node.Content[0], depth)
	case yaml.AliasNode:
		return d.read(node.Alias, depth+1)
	case yaml.MappingNode:
		return d.readMapping(node, depth)
	case yaml.SequenceNode:
		items := make([]any, len(node.Content))
		for i, each := range node.Content {
			items[i] = d.read(each, depth+1)
		}
		return items
	}
	return d.readScalar(node)
}

// readMapping keeps the order of the keys. Its own keys replace those that are merged into it.
func (d *document) readMapping(node *yaml.Node, depth int) object {
	fields, places, isOwn := object{}, map[string]int{}, map[string]bool{}
	add := func(field member[any]) {
		if place, isKnown := places[field.name]; isKnown {
			fields[place] = field
			return
		}
		places[field.name] = len(fields)
		fields = append(fields, field)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], d.read(node.Content[i+1], depth+1)
		switch tag := key.ShortTag(); {
		case tag == "!!merge":
			several, isList := value.([]any)
			if !isList {
				several = []any{value}
			}
			for _, each := range slices.Backward(several) { // The first mappings override the last.
				merged, _ := each.(object)
				for _, field := range merged {
					if !isOwn[field.name] {
						add(field)
					}
				}
			}
		case tag != "!!str":
			d.fail(key.Line, "", "a key must be a word: quote %q", key.Value)
		case isOwn[key.Value]:
			d.fail(key.Line, "", "%s appears twice", key.Value)
		default:
			isOwn[key.Value] = true
			add(member[any]{key.Value, value})
		}
	}
	return fields
}

// readScalar returns a scalar as YAML 1.2 has it; dates are texts. Numbers keep their form if JSON has it.
func (d *document) readScalar(node *yaml.Node) any {
	switch node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(node.Value, "true")
	case "!!int", "!!float":
		digits := strings.ReplaceAll(node.Value, "_", "")
		if json.Valid([]byte(digits)) {
			return json.Number(digits)
		}
		if whole, ok := new(big.Int).SetString(digits, 0); ok {
			return json.Number(whole.String())
		}
		number, err := strconv.ParseFloat(digits, 64)
		encoded, notFinite := json.Marshal(number)
		if err == nil && notFinite == nil {
			return json.Number(encoded)
		}
		d.fail(node.Line, "", "%s is not a finite number", node.Value)
		return nil
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

// lineOf returns the line of a key below a node that begins at a line, or else of the nearest one around it.
func lineOf(node *yaml.Node, line int, key string) int {
	switch node.Kind {
	case yaml.DocumentNode:
		return lineOf(node.Content[0], line, key)
	case yaml.AliasNode:
		return lineOf(node.Alias, line, key)
	}
	step := 1
	if node.Kind == yaml.MappingNode {
		step = 2
	}
	var found *yaml.Node
	inner := key
	for i := 0; i+step <= len(node.Content); i += step {
		name := fmt.Sprintf("[%d]", i)
		if step == 2 {
			name = node.Content[i].Value
		}
		rest, isBelow := strings.CutPrefix(key, name)
		isBelow = isBelow && (rest == "" || rest[0] == '.' || rest[0] == '[')
		if isBelow && len(rest) < len(inner) { // Names may have dots: the longest one is meant.
			found, line, inner = node.Content[i+step-1], node.Content[i].Line, rest
		}
	}
	if found == nil {
		return line
	}
	return lineOf(found, line, strings.TrimPrefix(inner, "."))
}
