package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"wirebench.dev/wireload/variable"
)

// Single is an operation whose requests are sent one by one, to look at the replies.
type Single struct {
	*user
	Operation string
	// Deletes says that a request that creates a record comes before each that deletes one.
	Deletes bool
	// described is the operation in the application file.
	described field
}

// CompileEach prepares each operation of a load by itself, in the application's order. Its inputs depend only on the
// application, the seed, the payload and the ids: they are the same on each transport.
func (a *Application) CompileEach(options Options) ([]Single, error) {
	if _, err := a.Compile(options); err != nil {
		return nil, err
	}
	names := options.Work.operations()
	options.setDefaults()
	options.Work = Work{}
	options.Users = len(a.operations())
	all := &Workload{options: options, idsEach: 1} // It gets the most ids that a request of any operation takes.
	for _, each := range a.operations() {
		c := &compiler{application: a, work: all}
		c.addInputs(each.get("inputs").each())
	}
	a.mistakes = nil // Those are of operations that aren't sent.
	var singles []Single
	for number, each := range a.operations() {
		if !slices.Contains(names, each.name) {
			continue
		}
		sequence := []string{each.name}
		if deleted := kindOf(each, "created"); deleted != "" {
			creates := func(other field) bool { return slices.Contains(names, other.name) && kindOf(other, "fresh") == deleted }
			creator := a.operations()[slices.IndexFunc(a.operations(), creates)]
			sequence = []string{creator.name, each.name}
		}
		options.Work = Work{Sequence: sequence}
		w := &Workload{options: options, idsEach: all.idsEach}
		if err := w.addOperations(a); err != nil {
			return nil, err
		}
		singles = append(singles, Single{w.NewSource(number).(*user), each.name, len(sequence) > 1, each})
	}
	return singles, nil
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
			text := variable.Hide(string(reply))
			shown[i] = encodeJSON(text[:min(len(text), shownBytesMax)])
		}
	}
	all := bytes.Join(shown, []byte(","))
	if isStream {
		all = slices.Concat([]byte("["), all, []byte("]"))
	}
	hidden := variable.Hide(string(all))
	if !json.Valid([]byte(hidden)) {
		return encodeJSON(hidden)
	}
	return []byte(hidden)
}

// Sent returns a request as a text: method, path or call, and the body, of which a message is JSON.
func (s *Single) Sent(r *Request) string {
	body := r.Body
	if method := s.current.schema.Methods[strings.TrimPrefix(string(r.Path), "/")]; method != nil {
		body, _ = describeReply(s.current.schema, method.Input(), body)
	}
	return variable.Hide(strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.Path, body)))
}

// Same returns what a reply, as Show has it, has at the paths whose values all variants answer alike: a text for each entry of
// `same`, and the same text for values that are equal. Where a gRPC message has the value, its JSON says what is equal: also a
// value that is missing. The text is nil where there is no value, or where an entry isn't of the transport.
func (s *Single) Same(reply json.RawMessage, isStream bool) (texts []*string) {
	value, _ := decodeJSON(reply)
	replies, _ := value.([]any)
	if !isStream {
		replies = []any{value}
	}
	transport, message := s.work.options.Transport, s.current.reply
	for _, each := range append(s.described.get("variants").each(), s.described.get("grpc")) {
		if method := s.current.schema.Methods[each.text("call")]; message == nil && method != nil {
			message = method.Output()
		}
	}
	for _, paths := range s.described.list("same") {
		path, of := paths.text(transport), protoreflect.Descriptor(nil)
		keys := keysOf(path)
		if message != nil && paths.get("grpc").value != nil {
			var known []string
			if known, of, _ = resolvePath(message, paths.text("grpc")); transport == "grpc" {
				keys = known
			}
		}
		found := []any{}
		for _, each := range replies {
			found = append(found, at(each, keys)...)
		}
		made := normalize(found, of).([]any)
		value = made
		if len(made) == 1 && (isEmpty(made[0]) || !isStream && !strings.Contains(path, "*")) {
			value = made[0]
		}
		if of != nil && isEmpty(value) {
			value = nil
		}
		var text *string
		if paths.get(transport).value != nil && (value != nil || of != nil) {
			encoded := string(encodeJSON(value))
			text = &encoded
		}
		texts = append(texts, text)
	}
	return texts
}
