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
	// Work is what each user does. In a load of one operation that is a sequence of one.
	Work Work `json:"work"`
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

// Work is one of sequence, phases and mix.
type Work struct {
	// Sequence is sent over and over. What follows a create is about the record that it created.
	Sequence []string `json:"sequence"`
	// Phases are for all users: each makes an equal part of its calls with one operation, and waits for the others.
	Phases []string `json:"phases"`
	// Mix has the weights with which each request's operation is drawn.
	Mix map[string]int `json:"mix"`
}

// Workload is what the users of a load do, compiled.
type Workload struct {
	options    Options
	operations []*compiled
	// order has indices of operations: a sequence, phases, or those of a mix, each as often as its weight says.
	order []int
	// keepsCreated says whether requests may be about records that the user created: in a mix only deletes are.
	keepsCreated bool
	// idsEach is how many ids lie between two that are given.
	idsEach int64
	// tookPayload says that an operation has a value for the payload.
	tookPayload bool
}

// Compile prepares a load's requests. Errors name the operation and the field.
func (a *Application) Compile(options Options) (*Workload, error) {
	options.setDefaults()
	if options.Codec != "json" && options.Codec != "protobuf" {
		return nil, fmt.Errorf("codec must be json or protobuf, not %q", options.Codec)
	}
	w := &Workload{options: options, idsEach: 1}
	if err := options.Work.validate(&options); err != nil {
		return nil, fmt.Errorf("work: %w", err)
	}
	if err := w.addOperations(a); err != nil {
		return nil, err
	}
	if !w.tookPayload && options.Payload != "" && options.Payload != "default" {
		return nil, fmt.Errorf("payload: no operation of the load has a value for %q", options.Payload)
	}
	return w, nil
}

func (o *Options) setDefaults() {
	o.Users = max(1, o.Users)
	if o.Codec = cmp.Or(o.Codec, "json"); o.Transport == "grpc" {
		o.Codec = "protobuf"
	}
}

// operations returns the names of the operations.
func (w *Work) operations() []string {
	return slices.Concat(w.Sequence, w.Phases, slices.Sorted(maps.Keys(w.Mix)))
}

const weightMax = 10_000

func (w *Work) validate(options *Options) error {
	if min(1, len(w.Sequence))+min(1, len(w.Phases))+min(1, len(w.Mix)) != 1 {
		return errors.New("needs one of sequence, phases and mix")
	}
	if phases := len(w.Phases); phases > 0 && (options.Calls <= 0 || options.Calls%phases != 0) {
		return fmt.Errorf("phases need calls: a multiple of %d", phases)
	}
	for name, weight := range w.Mix {
		if weight < 1 || weight > weightMax {
			return fmt.Errorf("mix: %s: its weight must be from 1 to %d", name, weightMax)
		}
	}
	return nil
}

// addOperations compiles the operations of the work.
func (w *Workload) addOperations(a *Application) error {
	work := &w.options.Work
	w.keepsCreated = len(work.Mix) == 0
	places := map[string]int{}
	for _, name := range work.operations() {
		if _, ok := places[name]; !ok {
			o := a.root.get("operations").get(name)
			if o.value == nil {
				return fmt.Errorf("operations: there is no %q; %s", name, suggest.Name(name, names(a.operations())))
			}
			c := &compiler{application: a, work: w}
			if !c.compile(o) {
				return a.err()
			}
			places[name] = len(w.operations)
			w.operations = append(w.operations, &c.compiled)
			w.keepsCreated = w.keepsCreated || c.deletes != ""
			if w.operations[0].isLine != c.isLine {
				return errors.New("lines and frames can't be mixed: a service speaks one of them")
			}
		}
		w.order = append(w.order, slices.Repeat([]int{places[name]}, max(1, work.Mix[name]))...)
	}
	for _, each := range w.operations {
		each.instead = slices.IndexFunc(w.operations, func(other *compiled) bool { return other.creates == each.deletes })
		if each.deletes != "" && each.instead < 0 {
			return fmt.Errorf("%s: needs an operation that creates: a load deletes only what it has created", each.template.Operation)
		}
	}
	return nil
}
