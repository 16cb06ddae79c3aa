// Package contract knows the messages of operations, as the proto files define them.
package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/bufbuild/protocompile"
	"go.k6.io/k6/js/common"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// GRPCMethods is the one place that says which messages an operation takes and gives: those of the
// gRPC method that does the same.
var GRPCMethods = map[string]protoreflect.FullName{
	"users.create":       "wirebench.v1.UserService.CreateUser",
	"users.get":          "wirebench.v1.UserService.GetUser",
	"users.update":       "wirebench.v1.UserService.UpdateUser",
	"users.delete":       "wirebench.v1.UserService.DeleteUser",
	"users.list":         "wirebench.v1.UserService.ListUsers",
	"users.create_batch": "wirebench.v1.UserService.CreateUserBatch",
	"ledger.get_balance": "wirebench.v1.LedgerService.GetBalance",
	"echo.echo":          "wirebench.v1.EchoService.Echo",
	"echo.upper":         "wirebench.v1.EchoService.Upper",
}

// Schema finds the messages of operations. It is read-only once compiled, and shared by all VUs.
type Schema struct {
	methods map[string]protoreflect.MethodDescriptor
}

// compileSchema compiles proto files that it reads through k6's file system, so that they are part of
// a k6 archive. Relative paths start at the script.
func compileSchema(ctx context.Context, environment *common.InitEnvironment, importPaths, files []string) (*Schema, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: importPaths,
			Accessor: func(name string) (io.ReadCloser, error) {
				return environment.FileSystems["file"].Open(environment.GetAbsFilePath(name))
			},
		}),
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	methods := map[string]protoreflect.MethodDescriptor{}
	for operation, name := range GRPCMethods {
		descriptor, err := compiled.AsResolver().FindDescriptorByName(name)
		if err != nil {
			continue // Its file was not asked for; a call of it says so.
		}
		if method, ok := descriptor.(protoreflect.MethodDescriptor); ok {
			methods[operation] = method
		}
	}
	return &Schema{methods: methods}, nil
}

func (s *Schema) method(operation string) (protoreflect.MethodDescriptor, error) {
	if s == nil {
		return nil, fmt.Errorf("protobuf needs its proto files: call load(importPaths, ...files) in the init context")
	}
	method, ok := s.methods[operation]
	if !ok {
		return nil, fmt.Errorf("no message for operation %q in the loaded files", operation)
	}
	return method, nil
}

// Encode turns the JSON of a request into its message.
func (s *Schema) Encode(operation string, text []byte) ([]byte, error) {
	method, err := s.method(operation)
	if err != nil {
		return nil, err
	}
	message := dynamicpb.NewMessage(method.Input())
	if len(text) > 0 {
		if err := protojson.Unmarshal(text, message); err != nil {
			return nil, fmt.Errorf("body does not fit %s: %w", method.Input().Name(), err)
		}
	}
	return proto.Marshal(message)
}

// Decode turns a response message into the JSON of its `data`, which is what a JSON body holds.
func (s *Schema) Decode(operation string, body []byte) (json.RawMessage, error) {
	method, err := s.method(operation)
	if err != nil {
		return nil, err
	}
	message := dynamicpb.NewMessage(method.Output())
	if err := proto.Unmarshal(body, message); err != nil {
		return nil, err
	}
	data := method.Output().Fields().ByName("data")
	if data == nil {
		return nil, fmt.Errorf("%s has no field data", method.Output().Name())
	}
	if data.IsList() && !message.Has(data) {
		return json.RawMessage("[]"), nil
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	err = json.Unmarshal(text, &envelope)
	return envelope.Data, err
}

// Cache keeps schemas that have been compiled, by the import paths and files that were asked for: all
// VUs of a script ask for the same, and compiling takes milliseconds each.
type Cache struct {
	mutex   sync.Mutex
	schemas map[string]*Schema
}

// Load returns the schema of these files, compiled once a process.
func (c *Cache) Load(
	ctx context.Context, environment *common.InitEnvironment, importPaths, files []string,
) (*Schema, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	key := strings.Join(importPaths, "\x00") + "\x01" + strings.Join(files, "\x00")
	if known, ok := c.schemas[key]; ok {
		return known, nil
	}
	compiled, err := compileSchema(ctx, environment, importPaths, files)
	if err != nil {
		return nil, err
	}
	if c.schemas == nil {
		c.schemas = map[string]*Schema{}
	}
	c.schemas[key] = compiled
	return compiled, nil
}
