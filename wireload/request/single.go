package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"wirebench.dev/wireload/variable"
)

// Single is an operation whose requests are sent one by one, to look at the replies.
type Single struct {
	*user
	Operation string
	// Deletes says that a request that creates a record comes before each that deletes one.
	Deletes bool
	// IsLine says that it is a line on a socket, without frames.
	IsLine bool
}

// CompileEach prepares each operation of a load by itself, in the application's order. Its inputs depend only on the
// application, the seed, the payload and the ids: they are the same on each transport.
func (a *Application) CompileEach(options Options) ([]Single, error) {
	if _, err := a.Compile(options); err != nil {
		return nil, err
	}
	var names []string
	for _, each := range options.Clients {
		names = append(names, each.operations()...)
	}
	options.setDefaults()
	options.Users = len(a.operations())
	var singles []Single
	for number, each := range a.operations() {
		if !slices.Contains(names, each.name) {
			continue
		}
		sequence := []string{each.name}
		if deleted := kindOf(each, "created"); deleted != "" {
			sequence = []string{a.creatorOf(deleted, names), each.name}
		}
		w := &Workload{options: options, idsEach: a.idsEach(&options)}
		k := kind{Client: Client{Users: 1, Sequence: sequence}}
		if _, err := a.compileKind(&k, w); err != nil {
			return nil, err
		}
		w.kinds = []kind{k}
		singles = append(singles, Single{w.NewSource(number).(*user), each.name, len(sequence) > 1, w.lines})
	}
	return singles, nil
}

// idsEach returns the most ids that a request of any operation takes.
func (a *Application) idsEach(options *Options) int64 {
	most := int64(1)
	for _, each := range a.operations() {
		c := &compiler{application: a, kind: &kind{}, options: options}
		if c.addInputs(each.get("inputs").each()) { // Others aren't sent.
			most = max(most, c.idsEach)
		}
	}
	a.mistakes = nil
	return most
}

// creatorOf returns the first of these operations that creates a kind of records.
func (a *Application) creatorOf(created string, names []string) string {
	for _, each := range a.operations() {
		if slices.Contains(names, each.name) && kindOf(each, "fresh") == created {
			return each.name
		}
	}
	return ""
}

// kindOf returns the kind of records of an operation's first input with a generator.
func kindOf(o field, generator string) (kind string) {
	for _, each := range o.get("inputs").each() {
		kind = cmp.Or(kind, each.text(generator))
	}
	return kind
}

// shownBytesMax is how much of a reply is shown. Longer ones can't be compared.
const shownBytesMax = 4 << 20

// Show returns the JSON of a reply to the last request, or a list of a stream's items. What is neither JSON nor a message
// becomes a string.
func (s *Single) Show(replies [][]byte, isStream bool) json.RawMessage {
	shown := make([][]byte, len(replies))
	for i, reply := range replies {
		shown[i] = reply
		if message := s.current.reply; message != nil {
			if described, err := describeReply(s.current.schema, message, reply); err == nil {
				shown[i] = described
			}
		}
		if len(reply) > shownBytesMax || !json.Valid(shown[i]) {
			shown[i] = quote(variable.Hide(string(reply)))
		}
	}
	all := bytes.Join(shown, []byte(","))
	if isStream {
		all = slices.Concat([]byte("["), all, []byte("]"))
	}
	hidden := variable.Hide(string(all))
	if !json.Valid([]byte(hidden)) {
		return quote(hidden)
	}
	return []byte(hidden)
}

// quote returns a text, or the start of a long one, as JSON.
func quote(text string) json.RawMessage {
	return encodeJSON(text[:min(len(text), shownBytesMax)])
}
