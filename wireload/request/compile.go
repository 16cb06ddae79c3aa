package request

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"wirebench.dev/wireload/contract"
)

// compiled is an operation of a kind of clients.
type compiled struct {
	template     Request
	draws        []draw
	path, body   program
	headers      []varyingHeader
	expectations []expectation
	// contains is a text, expanded, that is in the reply; nil if there is none.
	contains any
	// isLine says that it is sent on the socket without frames.
	isLine bool
	// reply is the message in protobuf, one of the schema's, nil in JSON; onlyData says that the reply stands for its `data`.
	schema   *contract.Schema
	reply    protoreflect.MessageDescriptor
	onlyData bool
	// creates and deletes are kinds of records; createdID is the place of the created record's id.
	creates, deletes string
	createdID        int
	// instead is the operation that is sent while there is nothing to delete.
	instead int
}

// draw makes the value of a slot for the next request of a user.
type draw func(u *user, v *slotValue)

// compiler compiles one operation for one kind of clients.
type compiler struct {
	compiled
	application *Application
	kind        *kind
	options     *Options
	// known are the inputs so far, expanded; sizes is what each expands to, and size is the sum of all.
	known map[string]any
	sizes map[string]int
	size  int
	// tookPayload says that an input has a value for the payload.
	tookPayload bool
	// idsEach is how many ids a request takes.
	idsEach int64
}

func (c *compiler) compile(name string) error {
	o, ok := c.application.operations.get(name)
	if !ok {
		return errors.New("there is no such operation")
	}
	c.template = Request{Operation: name, Stream: o.Stream, Idempotent: !o.Writes}
	c.schema = c.application.schema
	if c.kind.Name != "" {
		c.template.Operation = c.kind.Name + "/" + name
	}
	if err := c.addInputs(o.Inputs); err != nil {
		return err
	}
	var expect ordered[template]
	var contains *string
	var err error
	switch {
	case c.options.Transport == "rest" && o.Rest != nil:
		expect, contains, err = o.Rest.Expect.JSON, o.Rest.Expect.Contains, c.restRequest(&o)
	case c.options.Transport == "grpc" && o.Grpc != nil:
		expect, err = o.Grpc.Expect, c.grpcRequest(&o)
	case c.options.Transport == "socket" && o.Socket != nil && o.Socket.Line != nil:
		contains, err = o.Socket.Contains, c.line(&o)
	case c.options.Transport == "socket" && o.Socket != nil:
		expect, err = o.Socket.Expect, c.socketRequest(&o)
	default:
		err = fmt.Errorf("has no request on transport %q", c.options.Transport)
	}
	if err != nil {
		return err
	}
	if err := c.expect(expect); err != nil {
		return fmt.Errorf("%s.expect: %w", c.options.Transport, err)
	}
	if contains == nil {
		return nil
	}
	if c.contains, err = c.expandText(*contains); err != nil {
		return fmt.Errorf("%s: contains: %w", c.options.Transport, err)
	}
	return nil
}

func (c *compiler) addInputs(inputs ordered[input]) error {
	c.known, c.sizes = map[string]any{}, map[string]int{}
	for i := range inputs {
		name, in, before := inputs[i].name, &inputs[i].value, c.size
		value, err := c.input(in)
		if err != nil {
			return fmt.Errorf("inputs.%s: %w", name, err)
		}
		c.known[name], c.sizes[name] = value, c.size-before
		if in.Fresh != "" && c.creates == "" {
			c.creates, c.createdID = in.Fresh, value.(slot).place
		}
		c.deletes = cmp.Or(c.deletes, in.Created)
		if in.Stream == "items" {
			c.template.Items = c.options.StreamItems
		}
	}
	return nil
}

func (c *compiler) addSlot(kind slotKind, d draw) slot {
	c.draws = append(c.draws, d)
	return slot{place: len(c.draws) - 1, kind: kind}
}

// addNumber adds a slot for a number from low to high.
func (c *compiler) addNumber(low, high int64, d func(u *user) int64) slot {
	s := c.addSlot(numberKind, func(u *user, v *slotValue) { v.number = d(u) })
	s.low, s.high = low, high
	return s
}

// seeded returns what exists of a kind of records.
func (c *compiler) seeded(kind string) Seeded {
	if seeded, ok := c.options.Seeded[kind]; ok {
		return seeded
	}
	return c.application.seeded[kind]
}

func (c *compiler) restRequest(o *operation) (err error) {
	method, target, _ := strings.Cut(o.Rest.Request, " ")
	c.template.Method, c.template.Status = method, cmp.Or(o.Rest.Expect.Status, 200)
	c.template.Idempotent = IsIdempotent(method)
	if c.path, err = c.target(target); err != nil {
		return fmt.Errorf("rest.request: %w", err)
	}
	if err := c.addHeaders(o.Rest.Headers); err != nil {
		return fmt.Errorf("rest.headers: %w", err)
	}
	media := map[string]string{"json": "application/json", "protobuf": "application/x-protobuf"}[c.options.Codec]
	c.template.Accept = media
	if c.options.Codec == "json" && len(o.Rest.Expect.JSON) == 0 {
		c.template.Accept = "*/*"
	}
	if o.Stream {
		c.template.Accept, c.template.End = "text/event-stream", o.Rest.End
	}
	if o.Rest.Body.value == nil {
		return c.setBody(o, "", nil)
	}
	c.template.ContentType = media
	if c.options.Codec == "protobuf" && o.Grpc != nil {
		// The body is the request message as it is, with what in JSON only the path says.
		return c.setBody(o, "grpc.message", o.Grpc.Message.orEmpty())
	}
	return c.setBody(o, "rest.body", o.Rest.Body.value)
}

// target returns the program for path and query of a REST request. A parameter that is null is left out.
func (c *compiler) target(template string) (program, error) {
	path, query, _ := strings.Cut(template, "?")
	p, err := c.text(path, escapeURL)
	if err != nil {
		return nil, err
	}
	separator := "?"
	for pair := range strings.SplitSeq(query, "&") {
		name, template, _ := strings.Cut(pair, "=")
		value, err := c.expand(template)
		if err != nil {
			return nil, err
		}
		if pair == "" || value == nil {
			continue
		}
		p.literal(separator + name + "=")
		if err := p.text(value, escapeURL); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		separator = "&"
	}
	return p, nil
}

func (c *compiler) grpcRequest(o *operation) error {
	if c.options.Codec != "protobuf" {
		return errors.New("gRPC has codec protobuf only")
	}
	c.path.literal("/" + o.Grpc.Call)
	if err := c.addHeaders(o.Grpc.Metadata); err != nil {
		return fmt.Errorf("grpc.metadata: %w", err)
	}
	if err := c.setBody(o, "grpc.message", o.Grpc.Message.orEmpty()); err != nil {
		return err
	}
	return checkKind(c.schema.Methods[o.Grpc.Call], o.Grpc.Call, o.Stream)
}

// checkKind wants a unary call, or a server stream for an operation that is a stream.
func checkKind(method protoreflect.MethodDescriptor, call string, isStream bool) error {
	switch {
	case method.IsStreamingClient() && method.IsStreamingServer():
		return fmt.Errorf("grpc.call: %s is a bidirectional stream; only unary calls and server streams can be sent", call)
	case method.IsStreamingClient():
		return fmt.Errorf("grpc.call: %s is a client stream; only unary calls and server streams can be sent", call)
	case method.IsStreamingServer() && !isStream:
		return fmt.Errorf("grpc.call: %s is a server stream: the operation needs stream: true", call)
	case !method.IsStreamingServer() && isStream:
		return fmt.Errorf("grpc.call: %s is a unary call: the operation can't have stream: true", call)
	}
	return nil
}

func (c *compiler) socketRequest(o *operation) error {
	c.path.literal(o.Socket.Method)
	c.onlyData = true
	return c.setBody(o, "socket.body", o.Socket.Body.orEmpty())
}

// line compiles a line that is sent and answered as it is, without frames.
func (c *compiler) line(o *operation) (err error) {
	c.isLine = true
	c.template.Idempotent = false
	switch {
	case c.options.Codec != "json":
		return errors.New("socket.line: has no codec")
	case o.Stream:
		return errors.New("socket.line: a line is answered by one line, not by a stream")
	}
	if c.body, err = c.text(*o.Socket.Line, nil); err != nil {
		return fmt.Errorf("socket.line: %w", err)
	}
	if line, ok := c.body.constant(); ok {
		if err := CheckLine(line); err != nil {
			return fmt.Errorf("socket.line: %w", err)
		}
	}
	return nil
}

// CheckLine returns why a text isn't one line.
func CheckLine(line []byte) error {
	if bytes.ContainsAny(line, "\r\n") {
		return errors.New("a line can't have a line break")
	}
	return nil
}

func (t template) orEmpty() any {
	if t.value == nil {
		return object{}
	}
	return t.value
}

// setBody compiles a request's body, unless it is null, and finds the messages of protobuf.
func (c *compiler) setBody(o *operation, field string, body any) error {
	var method protoreflect.MethodDescriptor
	switch c.options.Codec {
	case "protobuf":
		if o.Grpc == nil {
			return errors.New("codec protobuf needs grpc.call, which names the messages")
		}
		if method = c.schema.Methods[o.Grpc.Call]; method == nil {
			return fmt.Errorf("grpc.call: the descriptors have no method %s", o.Grpc.Call)
		}
		c.reply = method.Output()
	case "json":
	default:
		return fmt.Errorf("codec must be json or protobuf, not %q", c.options.Codec)
	}
	if body == nil {
		return nil
	}
	value, err := c.expand(body)
	var isText bool
	if err == nil {
		isText, err = rendersText(value)
	}
	switch {
	case err != nil:
	case method != nil:
		err = c.body.message(method.Input(), value)
	case isText && c.options.Transport == "rest":
		c.template.ContentType = "text/plain; charset=utf-8"
		err = c.body.text(value, nil)
	default:
		c.body.json(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// rendersText says whether an expanded value is a text in each request.
func rendersText(value any) (bool, error) {
	s, ok := value.(slot)
	if !ok || s.kind != optionKind {
		_, isText := value.(string)
		return isText || ok && s.kind != numberKind, nil
	}
	texts := 0
	for _, each := range s.options {
		if _, isText := each.(string); isText {
			texts++
		}
	}
	if texts != 0 && texts != len(s.options) {
		return false, errors.New("must be a text in all requests, or in none")
	}
	return texts > 0, nil
}
