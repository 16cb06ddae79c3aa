package request

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"wirebench.dev/wireload/suggest"
)

// Options are what Compile needs to know of a load.
type Options struct {
	// Transport is rest, grpc or socket.
	Transport string `json:"transport"`
	// Codec is json or protobuf; by default json, and on gRPC protobuf.
	Codec string `json:"codec"`
	// Clients are the kinds of clients that share the users. A load of one operation has one kind with a sequence of one.
	Clients []Client `json:"clients"`
	// Users is how many users there are; 1 by default.
	Users int `json:"-"`
	// Calls and WarmupCalls are those of each user; phases need them.
	Calls       int `json:"-"`
	WarmupCalls int `json:"-"`
	// Payload is a name or a number of bytes or items that the application has values for; empty is its default.
	Payload string `json:"payload"`
	// StreamItems and StreamRateLimit (items per second; 0 is no limit) are those of each stream.
	StreamItems     int `json:"stream_items"`
	StreamRateLimit int `json:"stream_rate_limit_per_s"`
	// Seed is that of all that is random; each user has its own sequence.
	Seed uint64 `json:"seed"`
	// IDBase is the first id that is given to what is created.
	IDBase int64 `json:"id_base"`
	// isCheck says that a file is checked and nothing sent.
	isCheck bool
	// Wait returns when all users have called it. Next calls it between two phases.
	Wait func() `json:"-"`
}

// Client is a kind of client: its share of the users, and one of sequence, phases and mix.
type Client struct {
	Name string `json:"name"`
	// Users is the kind's share, relative to the others'; 1 by default.
	Users int `json:"users"`
	// Sequence is sent over and over. What follows a create is about the record that it created.
	Sequence []string `json:"sequence"`
	// Phases are for all users: each makes an equal part of its calls with one operation, and waits for the others.
	Phases []string `json:"phases"`
	// Mix has the weights with which each request's operation is drawn.
	Mix map[string]int `json:"mix"`
}

// Workload is what the users of a load do, compiled.
type Workload struct {
	options Options
	kinds   []*kind
	// idsEach is how many ids lie between two that are given.
	idsEach int64
	// lines says that lines are sent on the socket, instead of frames.
	lines bool
	// tookPayload says that an operation has a value for the payload.
	tookPayload bool
}

// SendsLines says whether lines are sent on the socket, instead of frames.
func (w *Workload) SendsLines() bool { return w.lines }

// kind is a compiled Client.
type kind struct {
	Client
	operations []*compiled
	// order has indices of operations: a sequence, phases, or those of a mix, each as often as its weight says.
	order []int
	// keepsCreated says whether requests may be about records that the user created: in a mix only deletes are.
	keepsCreated bool
}

// Compile prepares a load's requests. Errors name the operation and the field.
func (a *Application) Compile(options Options) (*Workload, error) {
	options.setDefaults()
	switch {
	case len(options.Clients) == 0:
		return nil, errors.New("clients: needs at least one kind")
	case options.Codec != "json" && options.Codec != "protobuf":
		return nil, fmt.Errorf("codec must be json or protobuf, not %q", options.Codec)
	case options.Codec == "json" && options.Transport == "grpc":
		return nil, errors.New("gRPC has codec protobuf only")
	}
	w := &Workload{options: options, idsEach: 1}
	for _, client := range options.Clients {
		if err := client.validate(&options); err != nil {
			return nil, fmt.Errorf("clients: %s: %w", cmp.Or(client.Name, "all"), err)
		}
		if err := w.addKind(a, client); err != nil {
			return nil, err
		}
	}
	if !w.tookPayload && options.Payload != "" && options.Payload != "default" {
		return nil, fmt.Errorf("payload: no operation of the load has a value for %q", options.Payload)
	}
	return w, nil
}

func (o *Options) setDefaults() {
	o.Users = max(1, o.Users)
	if o.Codec == "" {
		o.Codec = map[string]string{"grpc": "protobuf"}[o.Transport]
	}
	o.Codec = cmp.Or(o.Codec, "json")
}

// operations returns the names of a client's operations.
func (c *Client) operations() []string {
	return slices.Concat(c.Sequence, c.Phases, slices.Sorted(maps.Keys(c.Mix)))
}

const weightMax = 10_000

func (c *Client) validate(options *Options) error {
	if min(1, len(c.Sequence))+min(1, len(c.Phases))+min(1, len(c.Mix)) != 1 {
		return errors.New("needs one of sequence, phases and mix")
	}
	if phases := len(c.Phases); phases > 0 && (len(options.Clients) > 1 || options.Calls <= 0 || options.Calls%phases != 0) {
		return fmt.Errorf("phases are for all users, and need calls: a multiple of %d", phases)
	}
	for name, weight := range c.Mix {
		if weight < 1 || weight > weightMax {
			return fmt.Errorf("mix: %s: its weight must be from 1 to %d", name, weightMax)
		}
	}
	return nil
}

// addKind compiles a client's operations.
func (w *Workload) addKind(a *Application, client Client) error {
	client.Users = max(1, client.Users)
	k := &kind{Client: client, keepsCreated: len(client.Mix) == 0}
	places := map[string]int{}
	for _, name := range client.operations() {
		if _, ok := places[name]; !ok {
			o := a.root.get("operations").get(name)
			if o.value == nil {
				return fmt.Errorf("operations: there is no %q; %s", name, suggest.Name(name, names(a.operations())))
			}
			c := &compiler{application: a, kind: k, work: w}
			if !c.compile(o) {
				return a.err()
			}
			places[name] = len(k.operations)
			k.operations = append(k.operations, &c.compiled)
			k.keepsCreated = k.keepsCreated || c.deletes != ""
			if len(k.operations) > 1 && w.lines != c.isLine {
				return errors.New("lines and frames can't be mixed: a service speaks one of them")
			}
			w.lines = c.isLine
		}
		k.order = append(k.order, slices.Repeat([]int{places[name]}, max(1, client.Mix[name]))...)
	}
	for _, each := range k.operations {
		each.instead = slices.IndexFunc(k.operations, func(other *compiled) bool { return other.creates == each.deletes })
		if each.deletes != "" && each.instead < 0 {
			return fmt.Errorf("%s: needs an operation that creates: a load deletes only what it has created", each.template.Operation)
		}
	}
	w.kinds = append(w.kinds, k)
	return nil
}
