package request

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Options are what Compile needs to know of a load.
type Options struct {
	// Transport is rest, grpc or socket.
	Transport string `json:"transport"`
	// Codec is json or protobuf; by default json, and on gRPC protobuf.
	Codec string `json:"codec"`
	// Clients are the kinds of clients that share the users. A load of one operation has one kind with a sequence of one.
	Clients []Client `json:"clients"`
	// Users is how many users there are, those of all load generators together; 1 by default.
	Users int `json:"users"`
	// Calls and WarmupCalls are those of each user; phases need them.
	Calls       int `json:"calls"`
	WarmupCalls int `json:"warmup_calls"`
	// Payload is a name or a number of bytes or items that the application has values for; empty is its default.
	Payload string `json:"payload"`
	// StreamItems and StreamRateLimit (items per second; 0 is no limit) are those of each stream.
	StreamItems     int `json:"stream_items"`
	StreamRateLimit int `json:"stream_rate_limit_per_s"`
	// Seed is that of all that is random; each user has its own sequence.
	Seed uint64 `json:"seed"`
	// IDBase is the first id that is given to what is created.
	IDBase int64 `json:"id_base"`
	// Seeded replaces what the application says exists before the load.
	Seeded map[string]Seeded `json:"seeded"`
	// Meet returns when all users have called it. Next calls it between two phases.
	Meet func() `json:"-"`
}

// Client is a kind of client: its share of the users, and one of sequence, phases and mix.
type Client struct {
	Name string `json:"name"`
	// Users is the kind's share, relative to the others'; 1 by default.
	Users int `json:"users"`
	// Sequence is sent over and over. What follows a create is about the record that it created.
	Sequence []string `json:"sequence"`
	// Phases are for all users: each makes an equal part of its calls with one operation, and meets the others.
	Phases []string `json:"phases"`
	// Mix has the weights with which each request's operation is drawn.
	Mix map[string]int `json:"mix"`
}

// Workload is what the users of a load do, compiled.
type Workload struct {
	options Options
	kinds   []kind
	// idsEach is how many ids lie between two that are given.
	idsEach int64
}

// kind is a compiled Client.
type kind struct {
	Client
	// order has indices of operations: a sequence, phases, or the operations of a mix, whose weights add up to total.
	order   []int
	weights []int
	total   int
	// operations are those of the client, and then those that take the place of deletes while there is nothing to delete.
	operations []*compiled
}

// compiled is an operation of a kind of clients.
type compiled struct {
	template     Request
	draws        []draw
	path, body   program
	expectations []expectation
	// reply is the message in protobuf, nil in JSON; onlyData says that the reply stands for its `data`.
	reply    protoreflect.MessageDescriptor
	onlyData bool
	// creates and deletes are kinds of records; createdID is the slot of the created record's id.
	creates, deletes string
	createdID        int
	// instead is the operation that is sent while there is nothing to delete.
	instead int
}

// Compile prepares a load's requests. Errors name the operation and the field.
func (a *Application) Compile(options Options) (*Workload, error) {
	options.Users = max(1, options.Users)
	if options.Codec == "" {
		options.Codec = map[string]string{"grpc": "protobuf"}[options.Transport]
	}
	options.Codec = cmp.Or(options.Codec, "json")
	if len(options.Clients) == 0 {
		return nil, errors.New("clients: needs at least one kind")
	}
	w := &Workload{options: options, idsEach: 1}
	tookPayload := options.Payload == "" || options.Payload == "default"
	for _, client := range options.Clients {
		client.Users = max(1, client.Users)
		k := kind{Client: client}
		if err := k.validate(&options); err != nil {
			return nil, fmt.Errorf("clients: %s: %w", cmp.Or(client.Name, "all"), err)
		}
		took, err := a.compileKind(&k, w)
		if err != nil {
			return nil, err
		}
		tookPayload = tookPayload || took
		w.kinds = append(w.kinds, k)
	}
	if !tookPayload {
		return nil, fmt.Errorf("payload: no operation of the load has a value for %q", options.Payload)
	}
	return w, nil
}

func (k *kind) validate(options *Options) error {
	given := 0
	for _, is := range []bool{len(k.Sequence) > 0, len(k.Phases) > 0, len(k.Mix) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New("needs one of sequence, phases and mix")
	}
	if len(k.Phases) > 0 {
		if len(options.Clients) > 1 || options.Calls <= 0 || options.Calls%len(k.Phases) != 0 || options.Meet == nil {
			return fmt.Errorf("phases are for all users, and need calls: a multiple of %d", len(k.Phases))
		}
	}
	for name, weight := range k.Mix {
		if weight < 1 {
			return fmt.Errorf("mix: %s: its weight must be at least 1", name)
		}
	}
	return nil
}

// compileKind compiles a client's operations and says whether one of them takes the payload.
func (a *Application) compileKind(k *kind, w *Workload) (tookPayload bool, err error) {
	names := slices.Concat(k.Sequence, k.Phases, slices.Sorted(maps.Keys(k.Mix)))
	places := map[string]int{}
	for _, name := range names {
		if _, ok := places[name]; !ok {
			found, ok := a.operations.get(name)
			if !ok {
				return false, fmt.Errorf("there is no operation %q", name)
			}
			c := a.newCompiler(k, &w.options)
			operation, err := c.operation(&found, a.contract)
			if err != nil {
				return false, fmt.Errorf("%s: %w", name, err)
			}
			operation.template.Operation = name
			if k.Name != "" {
				operation.template.Operation = k.Name + "/" + name
			}
			places[name] = len(k.operations)
			k.operations = append(k.operations, operation)
			w.idsEach = max(w.idsEach, c.idsEach)
			tookPayload = tookPayload || c.tookPayload
		}
		k.order = append(k.order, places[name])
		k.weights = append(k.weights, k.Mix[name])
		k.total += k.Mix[name]
	}
	for _, each := range k.operations {
		if each.deletes == "" {
			continue
		}
		each.instead = slices.IndexFunc(k.operations, func(other *compiled) bool { return other.creates == each.deletes })
		if each.instead < 0 {
			return false, fmt.Errorf("%s: needs an operation that creates: a load deletes only what it has created",
				each.template.Operation)
		}
	}
	return tookPayload, nil
}

func (a *Application) newCompiler(k *kind, options *Options) *compiler {
	seeded := maps.Clone(a.seeded)
	maps.Copy(seeded, options.Seeded)
	return &compiler{
		options: options,
		seeded:  seeded,
		isMix:   len(k.Mix) > 0,
		known:   map[string]any{},
		sizes:   map[string]int{},
	}
}

func (c *compiler) operation(o *operation, messages contract) (*compiled, error) {
	if err := c.addInputs(o.Inputs); err != nil {
		return nil, err
	}
	op := &compiled{template: Request{Stream: o.Stream}}
	var expect ordered[template]
	var err error
	switch {
	case c.options.Transport == "rest" && o.Rest != nil:
		expect, err = o.Rest.Expect.JSON, c.restRequest(op, o, messages)
	case c.options.Transport == "grpc" && o.Grpc != nil:
		expect, err = o.Grpc.Expect, c.grpcRequest(op, o, messages)
	case c.options.Transport == "socket" && o.Socket != nil:
		expect, err = o.Socket.Expect, c.socketRequest(op, o, messages)
	default:
		err = fmt.Errorf("has no request on transport %q", c.options.Transport)
	}
	if err != nil {
		return nil, err
	}
	if op.expectations, err = c.expectations(expect); err != nil {
		return nil, fmt.Errorf("%s.%w", c.options.Transport, err)
	}
	var created string
	created, op.creates = o.find("fresh")
	_, op.deletes = o.find("created")
	if op.creates != "" {
		op.createdID = c.known[created].(slot).place
	}
	op.draws = c.draws
	return op, nil
}

const jsonType, protobufType = "application/json", "application/x-protobuf"

func (c *compiler) restRequest(op *compiled, o *operation, messages contract) (err error) {
	method, target, _ := strings.Cut(o.Rest.Request, " ")
	op.template.Method, op.template.Status = method, cmp.Or(o.Rest.Expect.Status, 200)
	if op.path, err = c.target(target); err != nil {
		return fmt.Errorf("rest.request: %w", err)
	}
	media, field, body := jsonType, "rest.body", o.Rest.Body
	if c.options.Codec == "protobuf" {
		// The body is the request message as it is, with what in JSON only the path says.
		if media = protobufType; o.Grpc != nil && body.value != nil {
			field, body = "grpc.message", o.Grpc.Message
		}
	}
	op.template.Accept = media
	if o.Rest.Body.value == nil {
		body = template{}
	} else {
		op.template.ContentType = media
	}
	return c.body(op, o, messages, field, body)
}

func (c *compiler) grpcRequest(op *compiled, o *operation, messages contract) error {
	if c.options.Codec != "protobuf" {
		return errors.New("gRPC has codec protobuf only")
	}
	op.path.literal("/" + o.Grpc.Call)
	return c.body(op, o, messages, "grpc.message", orEmpty(o.Grpc.Message))
}

func (c *compiler) socketRequest(op *compiled, o *operation, messages contract) error {
	op.path.literal(o.Socket.Method)
	op.onlyData = true
	return c.body(op, o, messages, "socket.body", orEmpty(o.Socket.Body))
}

func orEmpty(body template) template {
	if body.value == nil {
		body.value = object{}
	}
	return body
}

// body compiles a request's body, unless it is null, and finds the messages of protobuf.
func (c *compiler) body(op *compiled, o *operation, messages contract, field string, body template) error {
	var method protoreflect.MethodDescriptor
	switch c.options.Codec {
	case "protobuf":
		if o.Grpc == nil {
			return errors.New("codec protobuf needs grpc.call, which names the messages")
		}
		if method = messages[o.Grpc.Call]; method == nil {
			return fmt.Errorf("grpc.call: the descriptors have no method %s", o.Grpc.Call)
		}
		op.reply = method.Output()
	case "json":
	default:
		return fmt.Errorf("codec must be json or protobuf, not %q", c.options.Codec)
	}
	if body.value == nil {
		return nil
	}
	value, err := c.expand(body.value)
	if err == nil && method != nil {
		err = op.body.message(method.Input(), value)
	} else if err == nil {
		op.body.json(value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}
