// Package contract knows the messages of gRPC methods: of proto files, of compiled sets, and of servers that describe
// themselves.
package contract

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	// Google's protos that others import, beside those of google/protobuf, which protocompile has.
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/genproto/googleapis/rpc/status"
	_ "google.golang.org/genproto/googleapis/type/date"
	_ "google.golang.org/genproto/googleapis/type/latlng"
	_ "google.golang.org/genproto/googleapis/type/money"
	_ "google.golang.org/genproto/googleapis/type/timeofday"
)

// Reflection is what a variant has in place of files whose service describes itself.
const Reflection = "reflection"

// Read returns the FileDescriptorSet of proto files and compiled sets, with all that they import. Imports are folders that
// imports in proto files are relative to. All paths are relative to a folder, which is also that of imports if none is
// given. A proto file that isn't below any of these is found in its own folder.
func Read(folder string, files, imports []string) ([]byte, error) {
	var names, roots []string
	compiled := map[string]*descriptorpb.FileDescriptorProto{}
	for _, each := range imports {
		roots = append(roots, resolve(folder, each))
	}
	if len(imports) == 0 {
		roots = []string{folder}
	}
	for _, each := range files {
		path := resolve(folder, each)
		info, err := os.Stat(path)
		switch {
		case err != nil || info.IsDir():
			return nil, fmt.Errorf("%s: no such file; name proto files, a compiled set (.binpb), or %s", path, Reflection)
		case filepath.Ext(path) == ".proto":
			name, root := filepath.Base(path), filepath.Dir(path)
			for _, each := range slices.Backward(roots) { // The first has precedence.
				if below, err := filepath.Rel(each, path); err == nil && filepath.IsLocal(below) {
					name, root = filepath.ToSlash(below), each
				}
			}
			names, roots = append(names, name), append(roots, root)
			continue
		}
		text, err := ReadFile(path)
		if err != nil {
			return nil, err
		}
		set := &descriptorpb.FileDescriptorSet{}
		if err := proto.Unmarshal(text, set); err != nil || len(set.File) == 0 {
			return nil, fmt.Errorf("%s: not a compiled set of descriptors: write one by `buf build` or `protoc --include_imports --descriptor_set_out`, or name proto files", path)
		}
		for _, file := range set.File {
			compiled[file.GetName()] = file
			names = append(names, file.GetName())
		}
	}
	return link(names, protocompile.CompositeResolver{
		&protocompile.SourceResolver{ImportPaths: roots, Accessor: func(path string) (io.ReadCloser, error) {
			text, err := ReadFile(path)
			return io.NopCloser(bytes.NewReader(text)), err
		}},
		protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			if found := compiled[path]; found != nil {
				completeJSONNames(found.MessageType)
				return protocompile.SearchResult{Proto: found}, nil
			}
			return protocompile.SearchResult{}, protoregistry.NotFound
		}),
	})
}

// fileBytesMax is more than any set of descriptors that people have.
const fileBytesMax = 64 << 20

// ReadFile returns what is in a file, and fails for what has no end, such as a device.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > fileBytesMax) {
		err = fmt.Errorf("%s: not a file of at most %d MiB", path, fileBytesMax>>20)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// completeJSONNames gives fields the names that they have in JSON by default: some compilers leave them out, as protoc's stubs
// for Python do.
func completeJSONNames(messages []*descriptorpb.DescriptorProto) {
	for _, message := range messages {
		for _, field := range message.Field {
			words := strings.Split(field.GetName(), "_")
			for i, word := range words[1:] {
				words[i+1] = strings.ToUpper(word[:min(1, len(word))]) + word[min(1, len(word)):]
			}
			if field.JsonName == nil {
				field.JsonName = proto.String(strings.Join(words, ""))
			}
		}
		completeJSONNames(message.NestedType)
	}
}

func resolve(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

// link returns the FileDescriptorSet of files and of all that they import, each behind what it imports.
func link(names []string, resolver protocompile.Resolver) ([]byte, error) {
	google := protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		found, err := protoregistry.GlobalFiles.FindFileByPath(path)
		return protocompile.SearchResult{Desc: found}, err
	})
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(protocompile.CompositeResolver{resolver, google}),
		MaxParallelism: 1, // A server is asked one question after the other.
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	set, isKnown := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if isKnown[file.Path()] {
			return
		}
		isKnown[file.Path()] = true
		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
	}
	for _, each := range files {
		add(each)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(set)
}

// Schema has gRPC methods by names like "package.Service/Method", and the types that a google.protobuf.Any may hold. It is
// read-only once loaded, and may be shared.
type Schema struct {
	Methods map[string]protoreflect.MethodDescriptor
	Types   *dynamicpb.Types
}

// Parse reads a set of descriptors, as protoc and buf compile it.
func Parse(descriptors []byte) (*Schema, error) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(descriptors, set); err != nil {
		return nil, fmt.Errorf("not a FileDescriptorSet: %w", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, err
	}
	methods := map[string]protoreflect.MethodDescriptor{}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				methods[fmt.Sprintf("%s/%s", service.FullName(), method.Name())] = method
			}
		}
		return true
	})
	return &Schema{methods, dynamicpb.NewTypes(files)}, nil
}
