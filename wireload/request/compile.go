package request

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/suggest"
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
		return fmt.Errorf("operations: there is no %q; %s", name, suggest.Name(name, c.application.operations.names()))
	}
	return atKey("operations."+name, c.compileOperation(name, &o))
}

func (c *compiler) compileOperation(name string, o *operation) error {
	c.template = Request{Operation: name, Stream: o.stream, Idempotent: !o.writes}
	c.schema = c.application.schema
	if c.kind.Name != "" {
		c.template.Operation = c.kind.Name + "/" + name
	}
	if err := c.addInputs(o.inputs); err != nil {
		return err
	}
	e := o.requests[c.options.Transport]
	if e == nil {
		return fmt.Errorf("has no request on transport %q", c.options.Transport)
	}
	return errors.Join(atKey(e.transport, c.compileExchange(o, e)), c.checkSame(o, e))
}

func (c *compiler) compileExchange(o *operation, e *exchange) error {
	switch {
	case e.line != "":
		return errors.Join(atKey("line", c.line(o, e)), c.expectText("contains", e))
	case e.transport == "socket":
		c.path.literal(e.target)
		c.onlyData = true
		return errors.Join(c.setBody(o, "body", e.body.value), c.expect("expect", e.expect))
	case e.transport == "grpc":
		return errors.Join(c.grpcRequest(o, e), c.expect("expect", e.expect))
	}
	return errors.Join(c.restRequest(o, e), c.expect("expect.json", e.expect), c.expectText("expect.contains", e))
}

// expectText compiles a text that is in the reply.
func (c *compiler) expectText(key string, e *exchange) (err error) {
	if e.contains != "" {
		c.contains, err = c.expandText(e.contains)
	}
	return atKey(key, err)
}

func (c *compiler) addInputs(inputs ordered[input]) error {
	c.known, c.sizes = map[string]any{}, map[string]int{}
	for i := range inputs {
		name, in, before := inputs[i].name, &inputs[i].value, c.size
		value, err := c.input(in)
		if err != nil {
			return atKey("inputs."+name, err)
		}
		c.known[name], c.sizes[name] = value, c.size-before
		switch {
		case in.generator == "fresh" && c.creates == "":
			c.creates, c.createdID = in.of, value.(slot).place
		case in.generator == "created":
			c.deletes = cmp.Or(c.deletes, in.of)
		case in.generator == "stream" && in.of == "items":
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

func (c *compiler) restRequest(o *operation, e *exchange) (err error) {
	method, target, _ := strings.Cut(e.target, " ")
	c.template.Method, c.template.Status, c.template.End = method, int(e.status), e.end
	c.template.Idempotent = IsIdempotent(method)
	if c.path, err = c.target(target); err != nil {
		return atKey("request", err)
	}
	if err := c.addHeaders(e.headers); err != nil {
		return atKey("headers", err)
	}
	switch {
	case e.end != "" && !o.stream:
		return atKey("end", errors.New("only a stream has an event that ends it"))
	case e.end == "message" || e.end == "error":
		return atKey("end", errors.New("events named message are items, and one named error fails the stream"))
	}
	media := map[string]string{"json": "application/json", "protobuf": "application/x-protobuf"}[c.options.Codec]
	c.template.Accept = media
	switch {
	case o.stream:
		c.template.Accept = "text/event-stream"
	case c.options.Codec == "json" && len(e.expect) == 0:
		c.template.Accept = "*/*"
	}
	if e.body.value == nil {
		return c.setBody(o, "", nil)
	}
	c.template.ContentType = media
	if call := o.requests["grpc"]; c.options.Codec == "protobuf" && call != nil {
		// The body is the request message as it is, with what in JSON only the path says.
		return c.setBody(o, "body", call.body.value)
	}
	return c.setBody(o, "body", e.body.value)
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

func (c *compiler) grpcRequest(o *operation, e *exchange) error {
	if c.options.Codec != "protobuf" {
		return errors.New("gRPC has codec protobuf only")
	}
	c.path.literal("/" + e.target)
	if err := errors.Join(atKey("metadata", c.addHeaders(e.headers)), c.setBody(o, "message", e.body.value)); err != nil {
		return err
	}
	method := c.schema.Methods[e.target]
	if method == nil { // It is checked without its messages.
		return nil
	}
	wrong := []error{atKey("call", checkKind(method, e.target, o.stream))}
	for _, each := range e.expect {
		wrong = append(wrong, atKey("expect."+each.name, checkPath(method.Output(), each.name)))
	}
	return errors.Join(wrong...)
}

// checkKind wants a unary call, or a server stream for an operation that is a stream.
func checkKind(method protoreflect.MethodDescriptor, call string, isStream bool) error {
	switch {
	case method.IsStreamingClient():
		return fmt.Errorf("%s takes a stream; only unary calls and server streams can be sent", call)
	case method.IsStreamingServer() != isStream:
		return fmt.Errorf("%s needs stream: %t", call, method.IsStreamingServer())
	}
	return nil
}

// checkSame returns which paths a reply of gRPC can't have.
func (c *compiler) checkSame(o *operation, e *exchange) error {
	method := c.schema.Methods[e.target]
	if e.transport != "grpc" || method == nil {
		return nil
	}
	var wrong []error
	for i, paths := range o.same {
		if path, ok := paths.get("grpc"); ok {
			wrong = append(wrong, atKey(fmt.Sprintf("same[%d].grpc", i), checkPath(method.Output(), path)))
		}
	}
	return errors.Join(wrong...)
}

// line compiles a line that is sent and answered as it is, without frames.
func (c *compiler) line(o *operation, e *exchange) (err error) {
	c.isLine = true
	c.template.Idempotent = false
	switch {
	case c.options.Codec != "json":
		return errors.New("has no codec")
	case o.stream:
		return errors.New("a line is answered by one line, not by a stream")
	}
	c.body, err = c.text(e.line, nil)
	if line, ok := c.body.constant(); ok && err == nil {
		return CheckLine(line)
	}
	return err
}

// CheckLine returns why a text isn't one line.
func CheckLine(line []byte) error {
	if bytes.ContainsAny(line, "\r\n") {
		return errors.New("a line can't have a line break")
	}
	return nil
}

// setBody compiles a request's body, unless it is null, and finds the messages of protobuf.
func (c *compiler) setBody(o *operation, key string, body any) error {
	var method protoreflect.MethodDescriptor
	switch c.options.Codec {
	case "protobuf":
		call := o.requests["grpc"]
		if call == nil {
			return errors.New("codec protobuf needs grpc.call, which names the messages")
		}
		var err error
		if method, err = c.findMethod(call.target); err != nil {
			return atKey("call", err)
		}
		if method != nil {
			c.reply = method.Output()
		}
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
	return atKey(key, err)
}

// findMethod returns a gRPC method; nil if a file is checked whose messages aren't known.
func (c *compiler) findMethod(call string) (protoreflect.MethodDescriptor, error) {
	method, names := c.schema.Methods[call], slices.Sorted(maps.Keys(c.schema.Methods))
	switch {
	case method != nil || c.options.isCheck && len(names) == 0:
		return method, nil
	case len(names) == 0:
		return nil, errors.New("protobuf needs its messages: the job has no descriptors")
	}
	return nil, fmt.Errorf("the descriptors have no method %s; %s", call, suggest.Name(call, names))
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
