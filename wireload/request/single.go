package request

import (
	"encoding/json"
	"slices"
	"strings"

	"wirebench.dev/wireload/variable"
)

// Single is an operation whose requests are sent one by one, to look at the replies.
type Single struct {
	Operation string
	// Source sends a request that creates a record before each of an operation that deletes one.
	Source  Source
	Deletes bool
	// IsLine reports whether it is a line on a socket, without frames.
	IsLine bool
	user   *user
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
	options.Users = len(a.operations)
	var singles []Single
	for number, each := range a.operations {
		if !slices.Contains(names, each.name) {
			continue
		}
		sequence := []string{each.name}
		if deleted := each.value.kindOf("created"); deleted != "" {
			sequence = []string{a.creatorOf(deleted, names), each.name}
		}
		w := &Workload{options: options, idsEach: a.idsEach(&options)}
		k := kind{Client: Client{Users: 1, Sequence: sequence}}
		if _, err := a.compileKind(&k, w); err != nil {
			return nil, err
		}
		w.kinds = []kind{k}
		source := w.NewSource(number).(*user)
		singles = append(singles, Single{each.name, source, len(sequence) > 1, w.lines, source})
	}
	return singles, nil
}

// idsEach returns the most ids that a request of any operation takes.
func (a *Application) idsEach(options *Options) int64 {
	most := int64(1)
	for _, each := range a.operations {
		c := &compiler{application: a, kind: &kind{}, options: options}
		if c.addInputs(each.value.inputs) == nil { // Others aren't sent.
			most = max(most, c.idsEach)
		}
	}
	return most
}

// creatorOf returns the first of these operations that creates a kind of records.
func (a *Application) creatorOf(created string, names []string) string {
	for _, each := range a.operations {
		if slices.Contains(names, each.name) && each.value.kindOf("fresh") == created {
			return each.name
		}
	}
	return ""
}

// kindOf returns the kind of records of the first input with a generator.
func (o *operation) kindOf(generator string) string {
	for _, each := range o.inputs {
		if each.value.generator == generator {
			return each.value.of
		}
	}
	return ""
}

// shownBytesMax is how much of a reply is shown. Longer ones can't be compared.
const shownBytesMax = 4 << 20

// Show returns the JSON of a reply to the last request. One that is neither JSON nor a message becomes a string.
func (s *Single) Show(reply []byte) json.RawMessage {
	shown, isText := s.show(reply)
	if isText {
		return quote(variable.Hide(shown))
	}
	return hide(shown)
}

// ShowItems returns a JSON list of a stream's items.
func (s *Single) ShowItems(items [][]byte) json.RawMessage {
	all := make([]string, len(items))
	for i, each := range items {
		shown, isText := s.show(each)
		if isText {
			shown = string(quote(shown))
		}
		all[i] = shown
	}
	return hide("[" + strings.Join(all, ",") + "]")
}

// hide replaces the values of variables in JSON.
func hide(shown string) json.RawMessage {
	hidden := variable.Hide(shown)
	if len(hidden) > shownBytesMax || !json.Valid([]byte(hidden)) {
		return quote(hidden)
	}
	return []byte(hidden)
}

// show returns the JSON of a reply, or its text.
func (s *Single) show(reply []byte) (shown string, isText bool) {
	if message := s.user.current.reply; message != nil {
		if value, err := decodeReply(s.user.current.schema, message, reply); err == nil {
			return jsonOf(value), false
		}
	}
	return string(reply), !json.Valid(reply)
}

// quote returns a text, or the start of a long one, as JSON.
func quote(text string) json.RawMessage {
	return []byte(jsonOf(strings.ToValidUTF8(text[:min(len(text), shownBytesMax)], "\uFFFD")))
}
