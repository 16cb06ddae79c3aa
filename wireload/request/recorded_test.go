package request

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

var record = flag.Bool("record", false, "write testdata/recorded.txt again: the requests of all operations, which must not change")

// recordedWires are the transports and codecs that an operation may have.
var recordedWires = [][2]string{{"rest", "json"}, {"rest", "protobuf"}, {"grpc", "protobuf"}, {"socket", "json"}, {"socket", "protobuf"}}

// recordedPayloads are those that operations may take: names, and a number.
var recordedPayloads = []string{"", "profile", "list", "long", "512k", "large", "2"}

// TestRecordedRequests compares the requests of all operations on all transports, for a seed, with those of earlier
// versions: results can be compared only while the load stays the same.
func TestRecordedRequests(t *testing.T) {
	var all strings.Builder
	for _, each := range []struct {
		path, variant string
		descriptors   []byte
	}{
		{"../../applications/users.yaml", "", readFile(t, "../../proto/contract.binpb")},
		{"../../applications/examples/podinfo.yaml", "rest", nil},
		{"../../applications/examples/podinfo.yaml", "grpc", podinfo(t)},
		{"testdata/inputs.yaml", "", readFile(t, "../../proto/contract.binpb")},
	} {
		application, err := Load(each.path, each.variant, each.descriptors)
		if err != nil {
			t.Fatal(err)
		}
		for _, operation := range application.operations() {
			for _, wire := range recordedWires {
				for _, payload := range recordedPayloads {
					hash, count := recordRequests(application, operation.name, wire, payload)
					if count > 0 {
						fmt.Fprintf(&all, "%s %s %s %s payload=%s %x\n", each.path, operation.name, wire[0], wire[1], payload, hash[:8])
					}
				}
			}
		}
	}
	if *record {
		if err := os.WriteFile("testdata/recorded.txt", []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(string(readFile(t, "testdata/recorded.txt")), "\n")
	got := strings.Split(all.String(), "\n")
	if len(want) != len(got) {
		t.Fatalf("want %d lines, got %d", len(want), len(got))
	}
	for i := range want {
		if want[i] != got[i] {
			t.Errorf("want %s\ngot  %s", want[i], got[i])
		}
	}
}

// recordRequests returns a hash of some requests of two users; there are none if the load can't be compiled.
func recordRequests(application *Application, operation string, wire [2]string, payload string) (hash [32]byte, count int) {
	operations := []string{operation}
	if operation == "users.delete" {
		operations = []string{"users.create", operation}
	}
	work, err := application.Compile(Options{
		Transport: wire[0], Codec: wire[1], Payload: payload, Users: 2, Seed: 7, IDBase: 10_000_000, StreamItems: 12,
		StreamRateLimit: 500, Work: sequence(operations...),
	})
	if err != nil {
		return hash, 0
	}
	var sent bytes.Buffer
	for user := range 2 {
		source := work.NewSource(user)
		for range 6 {
			var r Request
			source.Next(&r)
			source.Settle(true)
			fmt.Fprintf(&sent, "%s %s %s %q %s %d %t %d %s\n", r.Operation, r.Method, r.Path, append(r.Headers, r.Varying...),
				r.Body, r.Status, r.Stream, r.Items, r.End)
			count++
		}
	}
	return sha256.Sum256(sent.Bytes()), count
}

// podinfo returns the messages of the gRPC service of applications/examples/podinfo.yaml.
func podinfo(t *testing.T) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := prototext.Unmarshal([]byte(`
		file {
			name: "echo.proto" package: "echo" syntax: "proto3"
			message_type {name: "Message" field {name: "body" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING}}
			service {name: "EchoService" method {name: "Echo" input_type: ".echo.Message" output_type: ".echo.Message"}}
		}
		file {
			name: "version.proto" package: "version" syntax: "proto3"
			message_type {name: "Request"}
			message_type {name: "Response" field {name: "version" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING}}
			service {name: "VersionService" method {name: "Version" input_type: ".version.Request" output_type: ".version.Response"}}
		}`), set); err != nil {
		t.Fatal(err)
	}
	encoded, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}
