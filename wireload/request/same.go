package request

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Same returns what a reply has at the paths whose values all variants answer alike: a text for each entry of an operation's
// `same`, and the same text for values that are equal. Where a gRPC message has the value, its JSON says what is equal: also a
// value that is missing. The text is nil where there is no value, or where an entry isn't of the reply's transport.
func (a *Application) Same(operation, transport string, reply json.RawMessage) (texts []*string, err error) {
	o := a.root.get("operations").get(operation)
	value, err := decodeJSON(reply)
	replies, isStream := value.([]any)
	if isStream = isStream && o.is("stream"); !isStream {
		replies = []any{value}
	}
	method := a.schema.Methods[a.request(o, "grpc").text("call")]
	for _, paths := range o.list("same") {
		path, of := paths.text(transport), protoreflect.Descriptor(nil)
		keys := keysOf(path)
		if method != nil && paths.get("grpc").value != nil {
			var known []string
			if known, of, _ = resolvePath(method.Output(), paths.text("grpc")); transport == "grpc" {
				keys = known
			}
		}
		found := []any{}
		for _, each := range replies {
			found = append(found, at(each, keys)...)
		}
		made := normalize(found, of).([]any)
		var value any = made
		isOne := len(made) == 1 && (isEmpty(made[0]) || !isStream && !strings.Contains(path, "*"))
		if isOne {
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
	return texts, err
}
