package contract

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
)

func message(field protowire.Number, parts ...[]byte) (encoded []byte) {
	for _, each := range parts {
		encoded = protowire.AppendBytes(protowire.AppendTag(encoded, field, protowire.BytesType), each)
	}
	return encoded
}

func file(t *testing.T, name string, imports ...string) []byte {
	t.Helper()
	described := &descriptorpb.FileDescriptorProto{Name: &name, Package: proto.String("shop"), Dependency: imports}
	if name == "shop.proto" { // As protoc's stubs for Python describe it: without names in JSON.
		kind := descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum()
		described.MessageType = []*descriptorpb.DescriptorProto{{Name: proto.String("Item"), Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("item_id"), Number: proto.Int32(1), Type: kind}, {Name: proto.String("price"), Number: proto.Int32(2), Type: kind},
		}}}
	}
	encoded, err := proto.Marshal(described)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// server answers with its files, each alone; it has two services, one of them gRPC's own.
func server(t *testing.T, version string, files map[string][]byte) Ask {
	t.Helper()
	return func(method string, question []byte) ([]byte, error) {
		if !strings.HasPrefix(method, "grpc.reflection."+version+".") {
			return nil, ErrUnimplemented
		}
		number, _, size := protowire.ConsumeTag(question)
		text, _ := protowire.ConsumeString(question[size:])
		if number == listServices {
			return message(listResponse, message(1, message(1, []byte("shop.Shop")), message(1, []byte("grpc.health.v1.Health")))), nil
		}
		found, ok := files[text]
		if !ok {
			return message(errorResponse, message(2, []byte("not found"))), nil
		}
		return message(fileResponse, message(1, found)), nil
	}
}

func TestFilesComeWithAllThatTheyImport(t *testing.T) {
	inner, err := proto.Marshal(protodesc.ToFileDescriptorProto(anypb.File_google_protobuf_any_proto))
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1", "v1alpha"} {
		for name, files := range map[string]map[string][]byte{
			"all":           {"google/protobuf/any.proto": inner},
			"not Google's":  {},
			"another name":  {"google/protobuf/any.proto": file(t, "any.proto")},
			"a broken wire": {"google/protobuf/any.proto": inner, "unused": []byte("\xff")},
		} {
			files["shop.Shop"] = file(t, "shop.proto", "types.proto", "google/protobuf/any.proto", "google/api/http.proto")
			files["types.proto"] = file(t, "types.proto", "google/protobuf/any.proto")
			for _, calls := range [][]string{nil, {"shop.Shop/Get", "shop.Shop/List"}} {
				described, err := Reflect(server(t, version, files), calls)
				if err != nil {
					t.Fatalf("%s, %s: %v", version, name, err)
				}
				if _, err := Parse(described); err != nil {
					t.Errorf("%s, %s: %v", version, name, err)
				}
			}
		}
	}
}

func TestServersThatCannotBeUsed(t *testing.T) {
	good := map[string][]byte{"shop.Shop": file(t, "shop.proto")}
	for want, ask := range map[string]Ask{
		"it serves no reflection":                 server(t, "v2", good),
		"none.proto: not found; give proto files": server(t, "v1", map[string][]byte{"shop.Shop": file(t, "shop.proto", "none.proto")}),
		"shop.Shop: not found":                    server(t, "v1", nil),
		"the answer is no file descriptor":        server(t, "v1", map[string][]byte{"shop.Shop": []byte("\xff")}),
		"more than 64 MiB":                        server(t, "v1", map[string][]byte{"shop.Shop": file(t, strings.Repeat("x", bytesMax))}),
		"it broke":                                func(string, []byte) ([]byte, error) { return nil, errors.New("it broke") },
	} {
		if _, err := Reflect(ask, []string{"shop.Shop/Get"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := Reflect(server(t, "v1", good), []string{"shop.Shops/Get"})
	if err == nil || err.Error() != "the server has no service shop.Shops; did you mean shop.Shop?" {
		t.Errorf("got %v", err)
	}
}
