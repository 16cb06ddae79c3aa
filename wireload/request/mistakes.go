package request

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wirebench.dev/wireload/contract"
)

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

// Check returns what is wrong with an application file, by line. It compiles what can be read: each operation as each
// variant gets it. Sets are descriptors by variant, those of an application without variants under an empty name. Other variants' messages are
// those of the proto files that they name, and unknown if they have reflection.
func Check(path string, sets map[string][]byte) ([]Mistake, error) {
	a, err := readApplication(path)
	if err != nil {
		return nil, err
	}
	return a.checkAll(sets), nil
}

// Resolve returns an application as JSON that stands for itself: with what its aliases and merges stand for, and lists in
// place of the files that have them. Unless there are mistakes, which Check finds.
func Resolve(path string, sets map[string][]byte) ([]byte, []Mistake, error) {
	a, err := readApplication(path)
	if err != nil {
		return nil, nil, err
	}
	if mistakes := a.checkAll(sets); len(mistakes) > 0 {
		return nil, mistakes, nil
	}
	return []byte(jsonOf(a.resolve(a.value, ""))), nil, nil
}

// resolve returns a value in which inputs from files are lists.
func (a *Application) resolve(value any, at string) any {
	switch value := value.(type) {
	case []any:
		items := make([]any, len(value))
		for i, each := range value {
			items[i] = a.resolve(each, fmt.Sprintf("%s[%d]", at, i))
		}
		return items
	case object:
		if list, ok := a.lists[at]; ok {
			return object{{"list", list}}
		}
		fields := make(object, len(value))
		for i, each := range value {
			fields[i] = member[any]{each.name, a.resolve(each.value, joinKeys(at, each.name))}
		}
		return fields
	}
	return value
}

func (a *Application) checkAll(sets map[string][]byte) []Mistake {
	read := a.reader.mistakes
	if len(read) == mistakesMax {
		return read
	}
	isGood := func(key string) bool {
		return !slices.ContainsFunc(read, func(each Mistake) bool { return strings.HasPrefix(each.Key+".", key+".") })
	}
	good := *a
	good.operations = nil
	for _, each := range a.operations {
		if isGood("operations." + each.name) {
			good.operations = append(good.operations, each)
		}
	}
	good.check("", sets)
	for _, each := range a.variants {
		if isGood("variants." + each.name) {
			good.check(each.name, sets)
		}
	}
	slices.SortFunc(a.reader.mistakes, func(one, other Mistake) int {
		return cmp.Or(cmp.Compare(one.Line, other.Line), cmp.Compare(one.Key, other.Key), cmp.Compare(one.Text, other.Text))
	})
	return slices.Compact(a.reader.mistakes)
}

// check compiles the operations that a variant gets; without a variant, those of transports that none has.
func (a *Application) check(name string, sets map[string][]byte) {
	selected := *a
	selected.operations = slices.Clone(a.operations)
	if selected.selectVariant(name) != nil {
		return
	}
	chosen, _ := a.variants.get(name)
	var err error
	if selected.schema, err = a.readSchema(name, chosen, sets); err != nil {
		field{a.reader, "variants." + name + ".schema", nil}.fail("%v", err)
		return
	}
	for _, transport := range transports {
		has := func(each member[variant]) bool { return each.value.transport == transport }
		if name != "" && transport != chosen.transport || name == "" && slices.ContainsFunc(a.variants, has) {
			continue
		}
		for i := range selected.operations {
			each := &selected.operations[i]
			if each.value.has(transport) {
				selected.checkOperation(&each.value, each.name, transport, name)
			}
		}
	}
}

// readSchema returns a variant's messages.
func (a *Application) readSchema(name string, of variant, sets map[string][]byte) (*contract.Schema, error) {
	set, ok := sets[name]
	if !ok && len(of.schema) > 0 && !slices.Equal(of.schema, []string{contract.Reflection}) {
		var err error
		if set, err = contract.Read(a.folder(), of.schema, of.imports); err != nil {
			return nil, err
		}
	}
	return contract.Parse(set)
}

// checkOperation compiles an operation for each payload that it takes.
func (a *Application) checkOperation(o *operation, name, transport, variantName string) {
	options := Options{Transport: transport, StreamItems: 1, StreamRateLimit: 1, isCheck: true}
	options.setDefaults()
	for _, payload := range o.payloads() {
		options.Payload = payload
		c := &compiler{application: a, kind: &kind{}, options: &options}
		if err := c.compile(name); err != nil {
			a.keep(err, name, variantName)
			return
		}
	}
}

// payloads returns the names of an operation's payloads, after that of none.
func (o *operation) payloads() []string {
	names := []string{""}
	for _, each := range o.inputs {
		for in := &each.value; in != nil; in = in.of {
			names = append(names, in.payload.names()...)
		}
	}
	return names
}

// keep keeps an error of an operation where it is written: in a variant's own request, in its headers, or in both's.
func (a *Application) keep(err error, operation, variantName string) {
	var found *keyError
	if !errors.As(err, &found) {
		found = &keyError{"operations." + operation, err}
	}
	text, key := found.err.Error(), found.key
	before := "operations." + operation + "."
	transport, inner, _ := strings.Cut(strings.TrimPrefix(key, before), ".")
	o, _ := a.operations.get(operation)
	if _, isOwn := o.variants.get(variantName); isOwn && slices.Contains(transports, transport) {
		key = before + "variants." + variantName + "." + inner
	}
	kind, header, _ := strings.Cut(inner, ".")
	chosen, _ := a.variants.get(variantName)
	_, isShared := chosen.headers.get(header)
	if _, isWritten := a.reader.lines[key]; isShared && !isWritten && (kind == "headers" || kind == "metadata") {
		key, text = "variants."+variantName+".headers."+header, fmt.Sprintf("%s: %s", operation, text)
	}
	field{a.reader, key, nil}.fail("%s", text)
}
