package request

import (
	"os"
	"slices"
	"strings"

	"wirebench.dev/wireload/contract"
)

// Check returns what is wrong with an application file, by line, or else the application as JSON that stands for itself:
// with what its aliases and merges stand for, and lists in place of the files that have them. It compiles what can be read:
// each operation as each variant gets it. Sets are descriptors by variant, those of an application without variants under an
// empty name. Other variants' messages are those of the proto files that they name, and unknown if they have reflection.
func Check(path string, sets map[string][]byte) (resolved string, mistakes []Mistake, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	a := parseApplication(path, text)
	if mistakes := a.checkAll(sets); len(mistakes) > 0 {
		return "", mistakes, nil
	}
	return jsonOf(a.value), nil, nil
}

func (a *Application) checkAll(sets map[string][]byte) []Mistake {
	read := slices.Clone(a.mistakes)
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
	return a.sortMistakes()
}

// check compiles the operations that a variant gets, for each payload; without a variant, those of transports that none has.
func (a *Application) check(name string, sets map[string][]byte) {
	selected := *a
	selected.operations = slices.Clone(a.operations)
	if selected.selectVariant(name) != nil {
		return
	}
	chosen, _ := a.variants.get(name)
	var err error
	if selected.schema, err = a.readSchema(name, chosen, sets); err != nil {
		field{a.document, "variants." + name + ".schema", nil}.check(err)
		return
	}
	for _, transport := range transports {
		has := func(each member[variant]) bool { return each.value.transport == transport }
		if name != "" && transport != chosen.transport || name == "" && slices.ContainsFunc(a.variants, has) {
			continue
		}
		options := Options{Transport: transport, StreamItems: 1, StreamRateLimit: 1, isCheck: true}
		options.setDefaults()
		for _, each := range selected.operations {
			if each.value.requests[transport] == nil {
				continue
			}
			for _, options.Payload = range each.value.payloads() {
				c := &compiler{application: &selected, kind: &kind{}, options: &options}
				if !c.compile(each.name, &each.value) {
					break
				}
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

// payloads returns the names of an operation's payloads, after that of none.
func (o *operation) payloads() []string {
	names := []string{""}
	for _, each := range o.inputs {
		for in := &each.value; in != nil; in = in.repeated {
			names = append(names, in.payload.names()...)
		}
	}
	return names
}
