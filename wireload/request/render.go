package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// RenderedREST is a REST request as other tools can send it.
type RenderedREST struct {
	Operation string `json:"operation"`
	// Writes says that it may be sent once only.
	Writes  bool              `json:"writes,omitempty"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	// Body is nil without one, or if it is protobuf: then BodyBase64 has it.
	Body       *string `json:"body,omitempty"`
	BodyBase64 []byte  `json:"body_base64,omitempty"`
}

// RenderedCall is a unary call of gRPC as other tools can send it.
type RenderedCall struct {
	Operation string            `json:"operation"`
	Writes    bool              `json:"writes,omitempty"`
	Call      string            `json:"call"`
	Metadata  map[string]string `json:"metadata"`
	// Message is in the JSON form of protobuf, with proto field names.
	Message json.RawMessage `json:"message"`
}

// Renderer makes requests of one operation that other tools send.
type Renderer struct {
	source *user
	writes bool
	// message is that of a gRPC request; nil on REST.
	message protoreflect.MessageDescriptor
}

// NewRenderer returns a Renderer for a load of one operation. It fails for what can't be sent by replaying requests.
func (a *Application) NewRenderer(options Options) (*Renderer, error) {
	var names []string
	for _, each := range options.Clients {
		names = append(names, each.operations()...)
	}
	if len(names) != 1 || len(options.Clients[0].Sequence) != 1 {
		return nil, errors.New("clients: render takes one client with a sequence of one operation")
	}
	operation, _ := a.operations.get(names[0])
	switch {
	case options.Transport != "rest" && options.Transport != "grpc":
		return nil, fmt.Errorf("transport must be rest or grpc, not %q", options.Transport)
	case operation.stream:
		return nil, fmt.Errorf("%s is a stream: only wireload sends it", names[0])
	case operation.kindOf("created") != "":
		return nil, fmt.Errorf("%s is about what a request before it has created: only wireload sends it", names[0])
	}
	options.Users = 1
	work, err := a.Compile(options)
	if err != nil {
		return nil, err
	}
	r := &Renderer{source: work.NewSource(0).(*user), writes: operation.writes}
	if options.Transport == "grpc" {
		r.message = a.schema.Methods[operation.grpc.call].Input()
	}
	return r, nil
}

// Next returns the next request: a RenderedREST or a RenderedCall.
func (r *Renderer) Next() (any, error) {
	var made Request
	r.source.Next(&made)
	defer r.source.Settle(true)
	transport := "rest"
	if r.message != nil {
		transport = "grpc"
	}
	if err := made.CheckHeaders(transport); err != nil {
		return nil, err
	}
	headers := map[string]string{}
	if made.Accept != "" && !made.HasHeader("accept") {
		headers["Accept"] = made.Accept
	}
	if len(made.Body) > 0 && made.ContentType != "" && !made.HasHeader("content-type") {
		headers["Content-Type"] = made.ContentType
	}
	for _, several := range [2][]Header{made.Headers, made.Varying} {
		for _, each := range several {
			headers[each.Name] = string(each.Value)
		}
	}
	if r.message != nil {
		message, err := r.show(made.Body)
		return RenderedCall{made.Operation, r.writes, string(made.Path[1:]), headers, message}, err
	}
	rendered := RenderedREST{Operation: made.Operation, Writes: r.writes, Method: made.Method, Path: string(made.Path), Headers: headers}
	switch {
	case len(made.Body) == 0:
	case utf8.Valid(made.Body) && made.ContentType != "application/x-protobuf":
		text := string(made.Body)
		rendered.Body = &text
	default:
		rendered.BodyBase64 = bytes.Clone(made.Body)
	}
	return rendered, nil
}

// show returns the JSON of a message.
func (r *Renderer) show(encoded []byte) (json.RawMessage, error) {
	message := dynamicpb.NewMessage(r.message)
	if err := proto.Unmarshal(encoded, message); err != nil {
		return nil, err
	}
	form := protojson.MarshalOptions{UseProtoNames: true, Resolver: r.source.current.schema.Types}
	text, err := form.Marshal(message)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer // protojson varies its spaces.
	err = json.Compact(&compact, text)
	return compact.Bytes(), err
}
