package request

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

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
