// Package contract knows the messages of gRPC methods: of proto files, of compiled sets, and of servers that describe
// themselves.
package contract

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

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
