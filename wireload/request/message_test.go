package request

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"wirebench.dev/wireload/contract"
)

// numeric are the types of fields that can have a whole number.
var numeric = strings.Fields("double float int64 uint64 int32 fixed64 fixed32 uint32 sfixed32 sfixed64 sint32 sint64 enum")

// everyType returns the descriptors of all.Types/Send, whose request has fields of all types: one_int32, many_int32.
func everyType(t *testing.T) []byte {
	t.Helper()
	var fields []string
	add := func(name, label, of, typeName string) {
		fields = append(fields, fmt.Sprintf(`field {name: "%s" number: %d label: LABEL_%s type: TYPE_%s %s}`,
			name, len(fields)+1, label, strings.ToUpper(of), typeName))
	}
	for _, each := range numeric {
		enum := map[string]string{"enum": `type_name: ".all.Enum"`}[each]
		add("one_"+each, "OPTIONAL", each, enum)
		add("many_"+each, "REPEATED", each, enum)
	}
	for _, each := range []string{"string", "bytes", "bool"} {
		add("one_"+each, "OPTIONAL", each, "")
	}
	add("inner", "OPTIONAL", "message", `type_name: ".all.Every"`)
	add("inners", "REPEATED", "message", `type_name: ".all.Every"`)
	add("wrapped_text", "OPTIONAL", "message", `type_name: ".google.protobuf.StringValue"`)
	add("wrapped_number", "OPTIONAL", "message", `type_name: ".google.protobuf.Int64Value"`)
	add("wrapped_bytes", "REPEATED", "message", `type_name: ".google.protobuf.BytesValue"`)
	add("by_name", "REPEATED", "message", `type_name: ".all.Every.ByNameEntry"`)
	return describe(t, `
		name: "all.proto" package: "all" syntax: "proto3" dependency: "google/protobuf/wrappers.proto"
		enum_type {name: "Enum" value {name: "NONE" number: 0} value {name: "SOME" number: 1}}
		service {name: "Types" method {name: "Send" input_type: ".all.Every" output_type: ".all.Every"}}
		message_type {name: "Every" `+strings.Join(fields, "\n")+`
			nested_type {
				name: "ByNameEntry" options {map_entry: true}
				field {name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING}
				field {name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".all.Every"}
			}
		}`, wrapperspb.File_google_protobuf_wrappers_proto)
}

// describe returns a set of descriptors: of a file, as text, and of the one that it imports.
func describe(t *testing.T, file string, imported protoreflect.FileDescriptor) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := prototext.Unmarshal([]byte("file {"+file+"}"), set); err != nil {
		t.Fatal(err)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(imported))
	encoded, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestEveryTypeOfField compares messages with what protobuf-go makes of their JSON form.
func TestEveryTypeOfField(t *testing.T) {
	var fields []string
	for _, each := range numeric {
		number := "{small}"
		if each[0] == 's' || strings.HasPrefix(each, "int") {
			number = "{signed}"
		}
		fields = append(fields,
			fmt.Sprintf(`"one_%s": "%s"`, each, number),
			fmt.Sprintf(`"many_%s": [1, "%s", "{listed}", 0]`, each, number))
	}
	fields = append(fields,
		`"oneString": "{random}{small}"`, `"one_bytes": "{noise}"`, `"one_bool": "{flag}"`,
		`"wrapped_text": "{random}", "wrapped_number": "{signed}", "wrapped_bytes": ["{noise}", "AA=="]`,
		`"inner": {"one_int32": 5, "one_string": "{random}", "inner": {"one_int64": "{small}"}}`,
		`"inners": [{"one_int32": "{small}"}, {"one_int32": 4}, "{record}"]`,
		`"by_name": {"a": {"one_int32": 3}, "b": {"one_string": "{long}"}}`)
	text := `{"operations": {"send": {"inputs": {
		"small": {"range": [0, 3]}, "signed": {"range": [-200, 200]}, "listed": {"list": [0, 1, 2]}, "flag": {"list": [true, false]},
		"random": {"random_text": 6}, "noise": {"list": ["AAECAw=="]}, "long": {"text": 300},
		"record": {"list": [{"one_string": "x"}, {}]}
	}, "grpc": {"call": "all.Types/Send", "message": {` + strings.Join(fields, ", ") + `}}}}}`
	application, err := parse(text, everyType(t))
	if err != nil {
		t.Fatal(err)
	}
	source := compile(t, application, Options{Transport: "grpc", Work: sequence("send")}).NewSource(0).(*user)
	found := application.root.get("operations").get("send")
	descriptor := application.schema.Methods["all.Types/Send"].Input()
	// The compiler is deterministic: it gives the same slots.
	c := &compiler{application: application, work: source.work}
	c.addInputs(found.get("inputs").each())
	var template program
	template.json(c.expand(found.get("grpc").get("message")))
	for range 200 {
		var r Request
		source.Next(&r)
		got, want := dynamicpb.NewMessage(descriptor), dynamicpb.NewMessage(descriptor)
		if err := proto.Unmarshal(r.Body, got); err != nil {
			t.Fatal(err)
		}
		if err := protojson.Unmarshal(template.append(nil, source.values), want); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	}
}

func TestANumberFillsATextAndAnEnumHasShortNames(t *testing.T) {
	text := `{"operations": {"send": {"inputs": {"n": {"range": [5, 5]}, "kind": {"list": ["some"]}}, "grpc": {"call": "all.Types/Send", "message": {
		"one_string": "{n|text}", "one_enum": "{kind}", "many_enum": ["NONE", "{kind}", 7]}}}}}`
	application, err := parse(text, everyType(t))
	if err != nil {
		t.Fatal(err)
	}
	var r Request
	compile(t, application, Options{Transport: "grpc", Work: sequence("send")}).NewSource(0).Next(&r)
	message := dynamicpb.NewMessage(application.schema.Methods["all.Types/Send"].Input())
	if err := proto.Unmarshal(r.Body, message); err != nil {
		t.Fatal(err)
	}
	got, _ := protojson.MarshalOptions{UseProtoNames: true, UseEnumNumbers: true}.Marshal(message)
	if want := `{"one_enum":1,"many_enum":[0,1,7],"one_string":"5"}`; strings.ReplaceAll(string(got), " ", "") != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

// TestGroupsAndDelimitedMessages has a service echo what it is sent.
func TestGroupsAndDelimitedMessages(t *testing.T) {
	for name, text := range map[string]string{
		"group": `syntax = "proto2"; message M { optional group Inner = 1 { optional string t = 1; required int64 n = 2; } repeated group Inners = 3 { optional int64 n = 1; } }`,
		"delimited": `edition = "2023"; option features.message_encoding = DELIMITED;
			message In { string t = 1; int64 n = 2; } message M { In inner = 1; repeated In inners = 2; }`,
	} {
		path := filepath.Join(t.TempDir(), name+".proto")
		if err := os.WriteFile(path, []byte(text+"service S { rpc Get(M) returns (M); }"), 0o600); err != nil {
			t.Fatal(err)
		}
		descriptors, err := contract.Read("", []string{path}, nil)
		if err != nil {
			t.Fatal(err)
		}
		application, err := parse(`{"operations": {"get": {"inputs": {"n": {"range": [300, 300]}}, "grpc": {"call": "S/Get",
			"message": {"inner": {"n": "{n}", "t": "{n|text}"}, "inners": [{"n": "{n}"}, {"n": 1}]},
			"expect": {"inner.n": 300, "inner.t": "300", "inners": {"matches": [{"n": 300}, {"n": "1"}]}, "inners.*.n": {"above": 0}}}}}}`, descriptors)
		if err != nil {
			t.Fatal(err)
		}
		source, r := compile(t, application, Options{Transport: "grpc", Work: sequence("get")}).NewSource(0), Request{}
		source.Next(&r)
		if err := source.Check(&r, r.Body); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
