package contract

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"wirebench.dev/wireload/suggest"
)

// bytesMax bounds what a server may answer.
const bytesMax = 64 << 20

// infrastructure are services that belong to no application.
var infrastructure = regexp.MustCompile(`^grpc\.(reflection|health|channelz)\.`)

// ErrUnimplemented is of a service that the server doesn't have.
var ErrUnimplemented = errors.New("it serves no reflection; give proto files instead: `schema: shop.proto`")

// Ask sends a message to a gRPC method, which answers each message with one, and returns the first answer.
type Ask func(method string, question []byte) (answer []byte, err error)

// Fields of grpc.reflection.v1.ServerReflectionRequest and of its response; v1alpha has the same.
const (
	fileByFilename       protowire.Number = 3
	fileContainingSymbol protowire.Number = 4
	listServices         protowire.Number = 7
	fileResponse         protowire.Number = 4
	listResponse         protowire.Number = 6
	errorResponse        protowire.Number = 7
)

// Reflect asks a gRPC service for its messages: server reflection, v1 or v1alpha. It returns the FileDescriptorSet of the
// services of these calls (package.Service/Method), or of all services, with all that their files import.
// https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
func Reflect(ask Ask, calls []string) (descriptors []byte, err error) {
	for _, version := range []string{"v1", "v1alpha"} {
		method := "grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
		r := &reflection{ask: ask, method: method, files: map[string]*descriptorpb.FileDescriptorProto{}}
		if descriptors, err = r.read(calls); !errors.Is(err, ErrUnimplemented) {
			return descriptors, err
		}
	}
	return nil, err
}

type reflection struct {
	ask    Ask
	method string
	files  map[string]*descriptorpb.FileDescriptorProto
	bytes  int
}

func (r *reflection) read(calls []string) ([]byte, error) {
	services, err := r.question(listServices, "", listResponse)
	if err != nil {
		return nil, err
	}
	var listed, wanted []string
	for _, each := range services.File {
		listed = append(listed, each.GetName())
	}
	for _, call := range calls {
		service, _, _ := strings.Cut(call, "/")
		wanted = append(wanted, service)
	}
	if len(calls) == 0 {
		wanted = slices.DeleteFunc(slices.Clone(listed), infrastructure.MatchString)
	}
	for _, name := range wanted {
		if !slices.Contains(listed, name) {
			return nil, fmt.Errorf("the server has no service %s; %s", name, suggest.Name(name, listed))
		}
		if err := r.take(fileContainingSymbol, name); err != nil {
			return nil, err
		}
	}
	return link(slices.Sorted(maps.Keys(r.files)), r)
}

// FindFileByPath asks for a file that others import.
func (r *reflection) FindFileByPath(path string) (protocompile.SearchResult, error) {
	if r.files[path] == nil {
		if err := r.take(fileByFilename, path); err != nil {
			return protocompile.SearchResult{}, fmt.Errorf("server reflection: %w; give proto files instead: `schema: shop.proto`", err)
		}
	}
	if r.files[path] == nil {
		return protocompile.SearchResult{}, fmt.Errorf("server reflection answers with another file than %s", path)
	}
	completeJSONNames(r.files[path].MessageType)
	return protocompile.SearchResult{Proto: r.files[path]}, nil
}

// take takes the files of an answer.
func (r *reflection) take(field protowire.Number, name string) error {
	found, err := r.question(field, name, fileResponse)
	if err != nil {
		return err
	}
	for _, each := range found.File {
		r.files[each.GetName()] = each
	}
	return nil
}

// question returns the answer to a question that has one field: a FileDescriptorSet. That is what the bytes of files are; a
// list of services is as one of files that have nothing but names.
func (r *reflection) question(field protowire.Number, text string, wanted protowire.Number) (*descriptorpb.FileDescriptorSet, error) {
	answer, err := r.ask(r.method, protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), text))
	if err != nil {
		return nil, err
	}
	if r.bytes += len(answer); r.bytes > bytesMax {
		return nil, fmt.Errorf("server reflection has more than %d MiB", bytesMax>>20)
	}
	if failure := fieldOf(errorResponse, answer); failure != nil {
		return nil, fmt.Errorf("%s: %s", text, fieldOf(2, failure))
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(fieldOf(wanted, answer), set); err != nil {
		return nil, fmt.Errorf("%s: the answer is no file descriptor: %w", text, err)
	}
	return set, nil
}

// fieldOf returns the last value of a field that is a message or a text; nil if a message has none.
func fieldOf(field protowire.Number, message []byte) (value []byte) {
	for len(message) > 0 {
		number, wire, size := protowire.ConsumeField(message)
		if size < 0 {
			return nil
		}
		if number == field && wire == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(message)
			value, _ = protowire.ConsumeBytes(message[tag:])
		}
		message = message[size:]
	}
	return value
}
