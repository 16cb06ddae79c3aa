package contract

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// Google's protos that others import, beside those of google/protobuf, which protocompile has.
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	_ "google.golang.org/genproto/googleapis/api/visibility"
	_ "google.golang.org/genproto/googleapis/rpc/code"
	_ "google.golang.org/genproto/googleapis/rpc/context/attribute_context"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/genproto/googleapis/rpc/http"
	_ "google.golang.org/genproto/googleapis/rpc/status"
	_ "google.golang.org/genproto/googleapis/type/calendarperiod"
	_ "google.golang.org/genproto/googleapis/type/color"
	_ "google.golang.org/genproto/googleapis/type/date"
	_ "google.golang.org/genproto/googleapis/type/datetime"
	_ "google.golang.org/genproto/googleapis/type/dayofweek"
	_ "google.golang.org/genproto/googleapis/type/decimal"
	_ "google.golang.org/genproto/googleapis/type/expr"
	_ "google.golang.org/genproto/googleapis/type/fraction"
	_ "google.golang.org/genproto/googleapis/type/interval"
	_ "google.golang.org/genproto/googleapis/type/latlng"
	_ "google.golang.org/genproto/googleapis/type/localized_text"
	_ "google.golang.org/genproto/googleapis/type/money"
	_ "google.golang.org/genproto/googleapis/type/month"
	_ "google.golang.org/genproto/googleapis/type/phone_number"
	_ "google.golang.org/genproto/googleapis/type/postaladdress"
	_ "google.golang.org/genproto/googleapis/type/quaternion"
	_ "google.golang.org/genproto/googleapis/type/timeofday"
)

// Reflection is what a variant has in place of files whose service describes itself.
const Reflection = "reflection"

// Read returns the FileDescriptorSet of proto files and compiled sets. Imports are folders that imports in proto files
// are relative to. All paths are relative to a folder, which is also that of imports if none is given.
func Read(folder string, files, imports []string) ([]byte, error) {
	var protos []string
	var all []*descriptorpb.FileDescriptorProto
	for _, name := range files {
		path := resolve(folder, name)
		info, err := os.Stat(path)
		switch {
		case err != nil || info.IsDir():
			return nil, fmt.Errorf("%s: no such file; name proto files, a compiled set (.binpb), or %s", path, Reflection)
		case filepath.Ext(path) == ".proto":
			protos = append(protos, path)
			continue
		}
		compiled, err := readCompiled(path)
		if err != nil {
			return nil, err
		}
		all = append(all, compiled...)
	}
	roots := []string{folder}
	if len(imports) > 0 {
		roots = nil
	}
	for _, each := range imports {
		roots = append(roots, resolve(folder, each))
	}
	compiled, err := compile(protos, roots)
	if err != nil {
		return nil, err
	}
	return encode(append(all, compiled...))
}

func resolve(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

func readCompiled(path string) ([]*descriptorpb.FileDescriptorProto, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, set); err != nil || len(set.File) == 0 {
		return nil, fmt.Errorf("%s: not a compiled set of descriptors: write one by `buf build` or `protoc --include_imports --descriptor_set_out`, or name proto files", path)
	}
	return set.File, nil
}

// compile returns the descriptors of proto files, and of all that they import. A file that isn't below a root is found in
// its own folder.
func compile(paths, roots []string) (all []*descriptorpb.FileDescriptorProto, err error) {
	var names []string
	for _, path := range paths {
		name := ""
		for _, root := range roots {
			if below, err := filepath.Rel(root, path); name == "" && err == nil && filepath.IsLocal(below) {
				name = filepath.ToSlash(below)
			}
		}
		if name == "" {
			name, roots = filepath.Base(path), append(roots, filepath.Dir(path))
		}
		names = append(names, name)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.CompositeResolver{
		&protocompile.SourceResolver{ImportPaths: roots},
		protocompile.WithStandardImports(protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			found, err := protoregistry.GlobalFiles.FindFileByPath(path)
			return protocompile.SearchResult{Desc: found}, err
		})),
	}}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	isKnown := map[string]bool{}
	var visit func(file protoreflect.FileDescriptor)
	visit = func(file protoreflect.FileDescriptor) {
		if isKnown[file.Path()] {
			return
		}
		isKnown[file.Path()] = true
		all = append(all, protodesc.ToFileDescriptorProto(file))
		for i := range file.Imports().Len() {
			visit(file.Imports().Get(i).FileDescriptor)
		}
	}
	for _, each := range files {
		visit(each)
	}
	return all, nil
}

// encode returns the set of these files, each once and behind those that it imports.
func encode(files []*descriptorpb.FileDescriptorProto) ([]byte, error) {
	waiting := map[string]*descriptorpb.FileDescriptorProto{}
	for _, each := range files {
		waiting[each.GetName()] = each
	}
	set := &descriptorpb.FileDescriptorSet{}
	var visit func(name string)
	visit = func(name string) {
		file, ok := waiting[name]
		if !ok {
			return
		}
		delete(waiting, name)
		for _, each := range file.GetDependency() {
			visit(each)
		}
		set.File = append(set.File, file)
	}
	for _, each := range files {
		visit(each.GetName())
	}
	if _, err := protodesc.NewFiles(set); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(set)
}
