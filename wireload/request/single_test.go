package request

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// library returns the descriptors of a service whose reply has a value of each kind that JSON has several forms of.
func library(t *testing.T) []byte {
	t.Helper()
	return describe(t, `
		name: "lib.proto" package: "lib" syntax: "proto3" dependency: "google/protobuf/timestamp.proto"
		enum_type {name: "BookKind" value {name: "BOOK_KIND_UNSPECIFIED" number: 0} value {name: "BOOK_KIND_NOVEL" number: 1} value {name: "NOT_FOUND" number: 2}}
		message_type {name: "Book"
			field {name: "item_id" json_name: "itemId" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64}
			field {name: "kind" number: 2 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".lib.BookKind"}
			field {name: "cover" number: 3 label: LABEL_OPTIONAL type: TYPE_BYTES}
			field {name: "price" number: 4 label: LABEL_OPTIONAL type: TYPE_FLOAT}
			field {name: "added" number: 5 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp"}
			field {name: "kinds" number: 6 label: LABEL_REPEATED type: TYPE_ENUM type_name: ".lib.BookKind"}
			field {name: "sequel" number: 7 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".lib.Book"}
			field {name: "others" number: 8 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".lib.Book"}
			field {name: "title" number: 9 label: LABEL_OPTIONAL type: TYPE_STRING}
			field {name: "rank" number: 10 label: LABEL_OPTIONAL type: TYPE_INT64 proto3_optional: true oneof_index: 0}
			oneof_decl {name: "_rank"}
		}
		service {name: "Library"
			method {name: "Get" input_type: ".lib.Book" output_type: ".lib.Book"}
			method {name: "Upload" input_type: ".lib.Book" output_type: ".lib.Book" client_streaming: true}
		}`, timestamppb.File_google_protobuf_timestamp_proto)
}

// TestValuesAreAlikeInProtobufsJSON has the same table for `same`, which compares replies, and `expect`.
func TestValuesAreAlikeInProtobufsJSON(t *testing.T) {
	for _, each := range []struct {
		path, grpc, rest string
		isAlike          bool
	}{
		{"item_id", `"7"`, `7`, true}, {"itemId", `"7"`, `"7"`, true}, {"item_id", `"7"`, `8`, false}, {"item_id", `"0"`, `null`, true},
		{"item_id", `"9007199254740993"`, `9007199254740993`, true}, {"item_id", `"9007199254740993"`, `9007199254740992`, false},
		{"kind", `"BOOK_KIND_NOVEL"`, `"NOVEL"`, true}, {"kind", `"BOOK_KIND_NOVEL"`, `"novel"`, true}, {"kind", `"BOOK_KIND_NOVEL"`, `1`, true},
		{"kind", `"NOT_FOUND"`, `"FOUND"`, false}, {"kind", `"BOOK_KIND_UNSPECIFIED"`, `null`, true},
		{"kind", `"BOOK_KIND_NOVEL"`, `null`, false}, {"kinds", `["BOOK_KIND_NOVEL", "NOT_FOUND"]`, `["novel", 2]`, true},
		{"kinds", `[]`, `null`, true}, {"kinds.*", `["BOOK_KIND_NOVEL"]`, `["novel"]`, true}, {"kinds.0", `["BOOK_KIND_NOVEL"]`, `["novel"]`, true},
		{"cover", `"+/8="`, `"-_8"`, true}, {"cover", `"+/8="`, `"-_7"`, false}, {"title", `"+/8="`, `"-_8="`, false}, {"title", `""`, `null`, true},
		{"title", `"7"`, `7`, true}, {"title", `"0"`, `null`, false}, {"rank", `"0"`, `null`, true}, {"rank", `null`, `0`, true}, {"price", `0.1`, `0.10000000149011612`, true}, {"price", `1`, `1.0`, true},
		{"added", `"2026-01-01T00:00:00Z"`, `"2026-01-01T01:00:00+01:00"`, true}, {"added", `null`, `null`, true},
		{"sequel", `{"item_id": "7", "kind": "BOOK_KIND_NOVEL", "title": ""}`, `{"itemId": 7, "kind": "NOVEL"}`, true},
		{"sequel", `{"item_id": "7"}`, `{"itemId": 7, "pages": 3}`, false}, {"sequel.kind", `{"kind": "BOOK_KIND_NOVEL"}`, `{"kind": 1}`, true},
		{"others", `[{"item_id": "0"}, {"kind": 2}]`, `[{}, {"kind": "not_found"}]`, true}, {"others.*.title", `[]`, `null`, true},
		{"", `{"item_id": "7", "others": []}`, `{"itemId": 7}`, true}, {"", `{"item_id": "7"}`, `{"itemId": 7, "title": "x"}`, false},
	} {
		application, err := parse(fmt.Sprintf(`{"operations": {"get": {"rest": {"request": "GET /"},
			"grpc": {"call": "lib.Library/Get"}, "same": {"rest": %[1]q, "grpc": %[1]q}}}}`, each.path), library(t))
		if err != nil {
			t.Fatal(err)
		}
		reply := func(value string) []byte {
			if each.path == "" {
				return []byte(value)
			}
			key := keysOf(each.path)[0]
			return fmt.Appendf(nil, `{%q: %s}`, key, value)
		}
		same := func(transport, value string) *string {
			singles, err := application.CompileEach(Options{Transport: transport, Work: sequence("get")})
			if err != nil {
				t.Fatal(err)
			}
			singles[0].Next(&Request{})
			return singles[0].Same([]byte(value), false)[0]
		}
		grpc, rest := same("grpc", strings.ReplaceAll(string(reply(each.grpc)), "itemId", "item_id")), same("rest", string(reply(each.rest)))
		if grpc == nil || rest == nil || (*grpc == *rest) != each.isAlike {
			t.Errorf("%+v: got %v and %v", each, grpc, rest)
		}
		if strings.Contains(each.path, ".") { // Their values are expected one by one.
			continue
		}
		application, err = parse(fmt.Sprintf(`{"operations": {"get": {"grpc": {"call": "lib.Library/Get", "expect": {%q: {"matches": %s}}}}}}`, each.path, each.rest), library(t))
		if err != nil {
			t.Fatal(err)
		}
		message := dynamicpb.NewMessage(application.schema.Methods["lib.Library/Get"].Output())
		if err := protojson.Unmarshal(reply(each.grpc), message); err != nil {
			t.Fatal(err)
		}
		encoded, _ := proto.Marshal(message)
		source := compile(t, application, Options{Transport: "grpc", Work: sequence("get")}).NewSource(0)
		source.Next(&Request{})
		if err := source.Check(&Request{}, encoded); (err == nil) != each.isAlike {
			t.Errorf("%+v: got %v", each, err)
		}
	}
}
