package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// renderedBytesMax bounds what is rendered: other tools keep all of it in memory.
const renderedBytesMax = 64 << 20

// rendered is a request as other tools can send it: with a method, a path, headers and maybe a body on REST, and on gRPC
// with a call, metadata and a message in the JSON form of protobuf.
type rendered struct {
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

// Render makes requests of a load of one operation for other tools, a line of JSON each. It fails for what can't be sent by
// replaying requests.
func (a *Application) Render(options Options, count int) ([]byte, error) {
	if len(options.Work.Sequence) != 1 {
		return nil, errors.New("work: render takes a sequence of one operation")
	}
	if options.Transport == "socket" {
		return nil, errors.New("transport must be rest or grpc: only wireload sends to sockets")
	}
	operation := a.root.get("operations").get(options.Work.Sequence[0])
	if operation.is("stream") {
		return nil, errors.New("a stream has no single reply: only wireload measures it")
	}
	options.Users = 1
	work, err := a.Compile(options)
	if err != nil {
		return nil, err
	}
	source := work.NewSource(0)
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for range count {
		var made Request
		source.Next(&made)
		source.Settle(true)
		line, err := a.render(&made, options)
		if err != nil {
			return nil, err
		}
		line.Writes = operation.is("writes")
		if err := encoder.Encode(line); err != nil {
			return nil, err
		}
		if lines.Len() > renderedBytesMax {
			return nil, fmt.Errorf("%d requests take more than %d MiB: render fewer, or choose a smaller payload",
				count, renderedBytesMax>>20)
		}
	}
	return lines.Bytes(), nil
}

func (a *Application) render(made *Request, options Options) (line rendered, err error) {
	if err := made.CheckHeaders(options.Transport); err != nil {
		return line, err
	}
	headers := map[string]string{}
	for _, each := range slices.Concat(made.Headers, made.Varying) {
		headers[each.Name] = string(each.Value)
	}
	switch {
	case options.Transport == "grpc":
		line = rendered{Operation: made.Operation, Call: string(made.Path[1:]), Metadata: headers}
		message := dynamicpb.NewMessage(a.schema.Methods[line.Call].Input())
		if err := proto.Unmarshal(made.Body, message); err != nil {
			return line, err
		}
		line.Message, err = protojson.MarshalOptions{UseProtoNames: true, Resolver: a.schema.Types}.Marshal(message)
		return line, err
	case options.Codec == "protobuf" && len(made.Body) > 0:
		return line, fmt.Errorf("%s has a body in protobuf on REST: only wireload sends it", made.Operation)
	}
	return rendered{Operation: made.Operation, Method: made.Method, Path: string(made.Path), Headers: headers, Body: string(made.Body)}, nil
}
