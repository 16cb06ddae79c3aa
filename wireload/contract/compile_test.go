package contract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

const shop = `edition = "2023";
package shop.v1;
import "google/api/annotations.proto";
import "google/api/field_behavior.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/rpc/status.proto";
import "google/type/money.proto";
import "types/color.proto";
service Catalog {
  rpc GetItem(GetItemRequest) returns (Item) { option (google.api.http) = { get: "/v1/items/{id}" }; }
}
message GetItemRequest { int64 id = 1 [(google.api.field_behavior) = REQUIRED]; types.Color color = 2; }
message Item {
  string name = 1 [features.field_presence = IMPLICIT];
  google.protobuf.Timestamp made = 2;
  google.protobuf.Struct notes = 3;
  google.type.Money price = 4;
  google.rpc.Status status = 5;
}
`

// write writes files below a folder, and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func namesIn(t *testing.T, descriptors []byte) (names []string) {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(descriptors, set); err != nil {
		t.Fatal(err)
	}
	for _, each := range set.File {
		for _, imported := range each.Dependency {
			if !slices.Contains(names, imported) {
				t.Errorf("%s stands before %s, which it imports", each.GetName(), imported)
			}
		}
		names = append(names, each.GetName())
	}
	return names
}

// TestProtoFilesComeWithAllThatTheyImport from two folders, and Google's own from none.
func TestProtoFilesComeWithAllThatTheyImport(t *testing.T) {
	folder := write(t, map[string]string{
		"protos/shop.proto":        shop,
		"common/types/color.proto": "syntax = \"proto3\";\npackage types;\nenum Color { NONE = 0; RED = 1; }\n",
		"own.proto":                "syntax = \"proto2\";\nmessage Own { required group Inner = 1 {} extensions 100 to max; }\n",
	})
	described, err := Read(folder, []string{"protos/shop.proto", "own.proto"}, []string{"protos", "common"})
	if err != nil {
		t.Fatal(err)
	}
	names := namesIn(t, described)
	for _, want := range []string{"shop.proto", "own.proto", "types/color.proto", "google/protobuf/timestamp.proto", "google/api/http.proto", "google/type/money.proto"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s isn't among %v", want, names)
		}
	}
	schema, err := Parse(described)
	if err != nil || schema.Methods["shop.v1.Catalog/GetItem"] == nil {
		t.Errorf("got %v, %v", schema, err)
	}
	// Compiled sets are joined: a file that several have is there once.
	for _, name := range []string{"a.binpb", "b.binpb"} {
		if err := os.WriteFile(filepath.Join(folder, name), described, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	joined, err := Read(folder, []string{"a.binpb", filepath.Join(folder, "b.binpb")}, nil)
	if err != nil || string(joined) != string(described) {
		t.Errorf("joined: %v, %d bytes and not %d", err, len(joined), len(described))
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	folder := write(t, map[string]string{
		"empty.binpb": "",
		"b.proto":     "syntax = \"proto3\";\nimport \"none.proto\";\n",
		"c.proto":     "syntax = \"proto3\";\nmessage {\n",
		"d.proto":     "edition = \"2099\";\n",
		"e.proto":     "syntax = \"proto3\";\nimport \"f.proto\";\n",
		"f.proto":     "syntax = \"proto3\";\nimport \"e.proto\";\n",
	})
	for name, want := range map[string]string{
		"empty.binpb": "/empty.binpb: not a compiled set",
		"b.proto":     "b.proto:2:8: stat " + folder + "/none.proto: no such file",
		"c.proto":     "c.proto:2:9: syntax error",
		"d.proto":     "d.proto:1:11: edition value \"2099\" not recognized",
		"e.proto":     "cycle",
	} {
		_, err := Read(folder, []string{name}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestASetWithoutItsImportsIsRejected(t *testing.T) {
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("a.proto"), Dependency: []string{"b.proto"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(set); err == nil || !strings.Contains(err.Error(), "b.proto") {
		t.Errorf("got %v", err)
	}
}
