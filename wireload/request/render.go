package request

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Rendered is a request as other tools can send it: with a method, a path, headers and maybe a body on REST, and on gRPC
// with a call, metadata and a message in the JSON form of protobuf.
type Rendered struct {
	Operation string `json:"operation"`
	// Writes says that it may be sent once only.
	Writes   bool              `json:"writes,omitempty"`
	Method   string            `json:"method,omitempty"`
	Path     string            `json:"path,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Body     string            `json:"body,omitempty"`
	Call     string            `json:"call,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Message  json.RawMessage   `json:"message,omitempty"`
}

// Render makes requests of a load of one operation for other tools. It fails for what can't be sent by replaying requests.
func (a *Application) Render(options Options, count int, use func(Rendered) error) error {
	var names []string
	for _, each := range options.Clients {
		names = append(names, each.operations()...)
	}
	if len(names) != 1 || len(options.Clients[0].Sequence) != 1 {
		return errors.New("clients: render takes one client with a sequence of one operation")
	}
	operation := a.root.get("operations").get(names[0])
	switch {
	case options.Transport != "rest" && options.Transport != "grpc":
		return fmt.Errorf("transport must be rest or grpc, not %q", options.Transport)
	case operation.is("stream"):
		return fmt.Errorf("%s is a stream: only wireload sends it", names[0])
	case kindOf(operation, "created") != "":
		return fmt.Errorf("%s is about what a request before it has created: only wireload sends it", names[0])
	}
	options.Users = 1
	work, err := a.Compile(options)
	if err != nil {
		return err
	}
	source := work.NewSource(0)
	for range count {
		var made Request
		source.Next(&made)
		source.Settle(true)
		if err := made.CheckHeaders(options.Transport); err != nil {
			return err
		}
		rendered := Rendered{Operation: made.Operation, Writes: operation.is("writes")}
		if options.Transport == "rest" {
			if options.Codec == "protobuf" && len(made.Body) > 0 {
				return fmt.Errorf("%s has a body in protobuf on REST: only wireload sends it", names[0])
			}
			rendered.Method, rendered.Path, rendered.Headers, rendered.Body = made.Method, string(made.Path), made.render(), string(made.Body)
		} else {
			rendered.Call, rendered.Metadata = string(made.Path[1:]), made.render()
			message := dynamicpb.NewMessage(a.schema.Methods[rendered.Call].Input())
			if err := proto.Unmarshal(made.Body, message); err != nil {
				return err
			}
			form := protojson.MarshalOptions{UseProtoNames: true, Resolver: a.schema.Types}
			if rendered.Message, err = form.Marshal(message); err != nil {
				return err
			}
		}
		if err := use(rendered); err != nil {
			return err
		}
	}
	return nil
}

// render returns all headers, or metadata, that wireload would send.
func (r *Request) render() map[string]string {
	headers := map[string]string{}
	if r.Accept != "" && !r.HasHeader("accept") {
		headers["Accept"] = r.Accept
	}
	if len(r.Body) > 0 && r.ContentType != "" && !r.HasHeader("content-type") {
		headers["Content-Type"] = r.ContentType
	}
	for _, several := range [2][]Header{r.Headers, r.Varying} {
		for _, each := range several {
			headers[each.Name] = string(each.Value)
		}
	}
	return headers
}
