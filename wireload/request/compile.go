package request

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// compiled is an operation of a kind of clients.
type compiled struct {
	template     Request
	draws        []draw
	path, body   program
	expectations []expectation
	// reply is the message in protobuf, nil in JSON; onlyData says that the reply stands for its `data`.
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
	c.template = Request{Operation: name, Stream: o.Stream}
	if c.kind.Name != "" {
		c.template.Operation = c.kind.Name + "/" + name
	}
	if err := c.addInputs(o.Inputs); err != nil {
		return err
	}
	var expect ordered[template]
	var err error
	switch {
	case c.options.Transport == "rest" && o.Rest != nil:
		expect, err = o.Rest.Expect.JSON, c.restRequest(&o)
	case c.options.Transport == "grpc" && o.Grpc != nil:
		expect, err = o.Grpc.Expect, c.grpcRequest(&o)
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
	if c.path, err = c.target(target); err != nil {
		return fmt.Errorf("rest.request: %w", err)
	}
	c.template.Accept = map[string]string{"json": "application/json", "protobuf": "application/x-protobuf"}[c.options.Codec]
	if o.Rest.Body.value == nil {
		return c.setBody(o, "", nil)
	}
	c.template.ContentType = c.template.Accept
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
	return c.setBody(o, "grpc.message", o.Grpc.Message.orEmpty())
}

func (c *compiler) socketRequest(o *operation) error {
	c.path.literal(o.Socket.Method)
	c.onlyData = true
	return c.setBody(o, "socket.body", o.Socket.Body.orEmpty())
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
		if method = c.application.contract[o.Grpc.Call]; method == nil {
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
	if err == nil && method != nil {
		err = c.body.message(method.Input(), value)
	} else if err == nil {
		c.body.json(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}
