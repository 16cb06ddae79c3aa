package request

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/suggest"
)

// compiled is an operation of a load.
type compiled struct {
	template     Request
	draws        []draw
	path, body   program
	headers      []varyingHeader
	expectations []expectation
	// contains is a text that is in the reply.
	contains program
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

// compiler compiles one operation of a load. What is wrong becomes a mistake of the application.
type compiler struct {
	compiled
	application *Application
	work        *Workload
	// known are the inputs so far, expanded; sizes is the sum of theirs.
	known map[string]any
	sizes int
}

// compile reports whether an operation is without mistakes.
func (c *compiler) compile(o field) bool {
	before := len(c.application.mistakes)
	c.template = Request{Operation: o.name, Stream: o.is("stream")}
	c.schema = c.application.schema
	if !c.addInputs(o.get("inputs").each()) {
		return false
	}
	e := c.application.request(o, c.work.options.Transport)
	switch {
	case e.value == nil:
		o.fail("has no request on transport %q", c.work.options.Transport)
		return false
	case c.work.options.Transport == "rest":
		c.compileREST(o, e)
	case c.work.options.Transport == "grpc":
		c.compileGRPC(o, e)
	case c.template.Stream:
		o.fail("the socket has no streams")
	case e.text("line") != "":
		c.compileLine(e)
	default:
		c.path.literal(e.text("method"))
		c.onlyData = true
		c.setBody(o, e, e.getOr("body", object{}))
		c.expect(e.get("expect"))
	}
	return len(c.application.mistakes) == before
}

// addInputs reports whether the inputs are without mistakes.
func (c *compiler) addInputs(inputs []field) bool {
	c.known = map[string]any{}
	before := len(c.application.mistakes)
	for _, in := range inputs {
		value := c.input(in)
		if len(c.application.mistakes) > before {
			return false
		}
		c.known[in.name] = value
		c.deletes = cmp.Or(c.deletes, in.text("created"))
		if created := in.text("fresh"); created != "" && c.creates == "" {
			c.creates, c.createdID = created, value.(slot).place
		}
		if in.text("stream") == "items" {
			c.template.Items = c.work.options.StreamItems
		}
	}
	return true
}

func (c *compiler) compileREST(o, e field) {
	method, target, _ := strings.Cut(e.text("request"), " ")
	expect := e.get("expect")
	c.template.Method, c.template.Status, c.template.End = method, int(expect.getOr("status", json.Number("200")).whole()), e.text("end")
	var err error
	c.path, err = c.target(target)
	e.get("request").check(err)
	c.addHeaders(e.get("headers"))
	media := map[string]string{"json": "application/json", "protobuf": "application/x-protobuf"}[c.work.options.Codec]
	body, accept := e.get("body"), media
	switch {
	case c.template.Stream:
		accept = "text/event-stream"
	case c.work.options.Codec == "json" && len(expect.get("json").each()) == 0:
		accept = "*/*"
	}
	c.addDefault("Accept", accept)
	if call := o.get("grpc"); body.value != nil && c.work.options.Codec == "protobuf" && call.value != nil {
		body = call.getOr("message", object{}) // It is the request message as it is, with what in JSON only the path says.
	}
	if c.setBody(o, e, body) {
		media = "text/plain; charset=utf-8"
	}
	if body.value != nil {
		c.addDefault("Content-Type", media)
	}
	if c.template.Stream {
		c.reply = nil // Events are JSON.
	}
	c.expect(expect.get("json"))
	c.contains = c.compileText(expect.get("contains"))
}

// target returns the program for path and query of a REST request. A parameter that is null is left out.
func (c *compiler) target(template string) (program, error) {
	path, query, _ := strings.Cut(template, "?")
	p, err := c.text(path, appendEscaped, false)
	if err != nil {
		return nil, err
	}
	separator := "?"
	for pair := range strings.SplitSeq(query, "&") {
		name, template, _ := strings.Cut(pair, "=")
		value, err := c.expandText(template)
		if err != nil {
			return nil, err
		}
		if pair == "" || value == nil {
			continue
		}
		inner, err := c.text(template, appendEscaped, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p.literal(separator + name + "=")
		p = append(p, inner...)
		separator = "&"
	}
	return p, nil
}

func (c *compiler) compileGRPC(o, e field) {
	target, call := e.text("call"), e.get("call")
	c.path.literal("/" + target)
	c.addHeaders(e.get("metadata"))
	c.setBody(o, e, e.getOr("message", object{}))
	c.expect(e.get("expect"))
	method := c.schema.Methods[target]
	if method == nil { // It is checked without its messages.
		return
	}
	switch {
	case method.IsStreamingClient():
		call.fail("%s takes a stream; only unary calls and server streams can be sent", target)
	case method.IsStreamingServer() != c.template.Stream:
		call.fail("%s needs stream: %t", target, method.IsStreamingServer())
	}
	for _, paths := range o.list("same") {
		_, _, err := resolvePath(method.Output(), paths.text("grpc"))
		paths.get("grpc").check(err)
	}
}

// compileLine compiles a line that is sent and answered as it is, without frames.
func (c *compiler) compileLine(e field) {
	c.isLine = true
	if c.work.options.Codec != "json" {
		e.fail("a line has no codec")
	}
	c.body = c.compileText(e.get("line"))
	c.contains = c.compileText(e.get("contains"))
}

// setBody compiles a request's body, unless it is null, and finds the messages of protobuf. It reports whether the body is
// sent as a text.
func (c *compiler) setBody(o, e, body field) (asText bool) {
	var method protoreflect.MethodDescriptor
	if c.work.options.Codec == "protobuf" {
		call := c.application.request(o, "grpc").get("call")
		if call.value == nil {
			e.fail("codec protobuf needs grpc.call, which names the messages")
			return false
		}
		known := slices.Sorted(maps.Keys(c.schema.Methods))
		if method = c.schema.Methods[call.value.(string)]; method != nil {
			c.reply = method.Output()
		} else if !c.work.options.isCheck || len(known) > 0 { // A file may be checked without its messages.
			call.fail("the descriptors have no method %s; %s", call.value, suggest.Name(call.value.(string), known))
		}
	}
	value := c.expand(body)
	switch {
	case body.value == nil:
	case method != nil:
		c.body.message(body, method.Input(), value)
	case c.work.options.Transport == "rest" && isText(value):
		body.check(c.body.text(value, appendText))
		return true
	default:
		c.body.json(value)
	}
	return false
}
