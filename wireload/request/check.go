package request

import (
	"path/filepath"
	"slices"
	"strings"

	"wirebench.dev/wireload/contract"
)

// Check returns what is wrong with an application file, by line, or else the application as JSON, with what its aliases and
// merges stand for. It compiles what can be read: each operation as each variant gets it. Sets are descriptors by variant,
// those of an application without variants under an empty name. Other variants' messages are those of the proto files that
// they name, and unknown if they have reflection.
func Check(path string, sets map[string][]byte) (resolved string, mistakes []Mistake, err error) {
	text, err := contract.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	a := parseApplication(path, text)
	if mistakes := a.checkAll(sets); len(mistakes) > 0 {
		return "", mistakes, nil
	}
	return jsonOf(a.root.value), nil, nil
}

func (a *Application) checkAll(sets map[string][]byte) []Mistake {
	read := slices.Clone(a.mistakes)
	isBad := func(f field) bool {
		return slices.ContainsFunc(read, func(each Mistake) bool { return strings.HasPrefix(each.Key+".", f.key+".") })
	}
	operations := slices.DeleteFunc(a.operations(), isBad)
	used := map[string]bool{}
	for _, each := range slices.DeleteFunc(a.root.get("variants").each(), isBad) {
		transport := each.text("transport")
		used[transport] = true
		a.check(operations, each, transport, sets)
	}
	for _, transport := range transports {
		if !used[transport] { // Such an application has no variants, or none of this transport.
			a.check(operations, field{document: a.document}, transport, sets)
		}
	}
	return a.sortMistakes()
}

// check compiles the operations that a variant gets on its transport, for each payload.
func (a *Application) check(operations []field, variant field, transport string, sets map[string][]byte) {
	schema, err := a.readSchema(variant, sets)
	if err != nil {
		variant.get("schema").check(err)
		return
	}
	selected := &Application{a.document, a.root, variant, schema}
	options := Options{Transport: transport, StreamItems: 1, StreamRateLimit: 1, isCheck: true}
	options.setDefaults()
	for _, each := range operations {
		if selected.request(each, transport).value == nil {
			continue
		}
		for _, options.Payload = range payloads(each.get("inputs").each()) {
			c := &compiler{application: selected, work: &Workload{options: options}}
			if !c.compile(each) {
				break
			}
		}
	}
}

// readSchema returns a variant's messages.
func (a *Application) readSchema(variant field, sets map[string][]byte) (*contract.Schema, error) {
	files := func(name string) (all []string) {
		for _, each := range variant.list(name) {
			all = append(all, each.value.(string))
		}
		return all
	}
	set, ok := sets[variant.name]
	if schema := files("schema"); !ok && len(schema) > 0 && schema[0] != contract.Reflection {
		var err error
		if set, err = contract.Read(filepath.Dir(a.path), schema, files("imports")); err != nil {
			return nil, err
		}
	}
	return contract.Parse(set)
}

// payloads returns the names of an operation's payloads, after that of none.
func payloads(inputs []field) []string {
	all := []string{""}
	for _, each := range inputs {
		for ; each.value != nil; each = each.get("of") {
			all = append(all, names(each.get("payload").each())...)
		}
	}
	return all
}
