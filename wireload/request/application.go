package request

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"wirebench.dev/wireload/contract"
)

// Application is what an application file describes.
type Application struct {
	seeded     map[string]Seeded
	operations ordered[operation]
	schema     *contract.Schema
}

// Seeded are the ids of records that exist before the load: Count of them, from First on.
type Seeded struct {
	First int64 `json:"first"`
	Count int64 `json:"count"`
}

// operation is one kind of request; input has the values in it.
type operation struct {
	Inputs ordered[input] `json:"inputs"`
	Rest   *rest          `json:"rest"`
	Grpc   *grpc          `json:"grpc"`
	Socket *socket        `json:"socket"`
	Stream bool           `json:"stream"`

	// What other tools read.
	Writes      bool            `json:"writes"`
	Conformance json.RawMessage `json:"conformance"`
	Same        json.RawMessage `json:"same"`
	Variants    json.RawMessage `json:"variants"`
}

type rest struct {
	Request string          `json:"request"`
	Headers ordered[string] `json:"headers"`
	Body    template        `json:"body"`
	End     string          `json:"end"`
	Expect  struct {
		Status   int               `json:"status"`
		JSON     ordered[template] `json:"json"`
		Contains *string           `json:"contains"`
	} `json:"expect"`
}

type grpc struct {
	Call     string            `json:"call"`
	Metadata ordered[string]   `json:"metadata"`
	Message  template          `json:"message"`
	Expect   ordered[template] `json:"expect"`
}

// socket is a method with its body in frames, or a line that a line answers.
type socket struct {
	Method string            `json:"method"`
	Body   template          `json:"body"`
	Expect ordered[template] `json:"expect"`

	Line     *string `json:"line"`
	Contains *string `json:"contains"`
}

// input says how a value of a request is made: by exactly one generator, with its options.
type input struct {
	generator string

	Seeded      string            `json:"seeded"`
	Fresh       string            `json:"fresh"`
	Created     string            `json:"created"`
	Range       []int64           `json:"range"`
	List        template          `json:"list"`
	Counter     *int64            `json:"counter"`
	Text        template          `json:"text"`
	Bytes       template          `json:"bytes"`
	RandomText  template          `json:"random_text"`
	RandomBytes template          `json:"random_bytes"`
	Payload     ordered[template] `json:"payload"`
	Stream      string            `json:"stream"`
	Repeat      template          `json:"repeat"`
	Value       template          `json:"value"`

	Max      int64    `json:"max"`
	Count    template `json:"count"`
	Offset   int64    `json:"offset"`
	Counting string   `json:"counting"`
	Of       *input   `json:"of"`
}

var (
	restRequest  = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) /[!-~]*$`)
	grpcCall     = regexp.MustCompile(`^[\w.]+/\w+$`)
	socketMethod = regexp.MustCompile(`^[!-~]{1,255}$`)
)

// Load reads an application in its JSON form, k6/application.json, and its messages: a compiled FileDescriptorSet,
// which only loads in protobuf need. Errors name the operation and the field.
func Load(applicationJSON, descriptors []byte) (*Application, error) {
	var file struct {
		Seeded     map[string]Seeded  `json:"seeded"`
		Operations ordered[operation] `json:"operations"`

		// What the harness reads.
		Application json.RawMessage `json:"application"`
		Variants    json.RawMessage `json:"variants"`
	}
	if err := decodeStrictly(applicationJSON, &file); err != nil {
		return nil, fmt.Errorf("application: %w", err)
	}
	if len(file.Operations) == 0 {
		return nil, errors.New("application: operations: needs at least one")
	}
	for kind, seeded := range file.Seeded {
		if seeded.Count < 1 {
			return nil, fmt.Errorf("application: seeded.%s: count must be at least 1", kind)
		}
	}
	for i := range file.Operations {
		if err := file.Operations[i].value.validate(file.Seeded); err != nil {
			return nil, fmt.Errorf("application: operations.%s.%w", file.Operations[i].name, err)
		}
	}
	schema, err := contract.Parse(descriptors)
	if err != nil {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	return &Application{seeded: file.Seeded, operations: file.Operations, schema: schema}, nil
}

func (o *operation) validate(seeded map[string]Seeded) error {
	for _, each := range o.Inputs {
		if err := each.value.validate(seeded); err != nil {
			return fmt.Errorf("inputs.%s: %w", each.name, err)
		}
	}
	switch {
	case o.Rest != nil && !restRequest.MatchString(o.Rest.Request):
		return fmt.Errorf("rest.request: must be a method and a path in ASCII, not %q", o.Rest.Request)
	case o.Rest != nil && o.Rest.End != "" && !o.Stream:
		return errors.New("rest.end: is the event that ends a stream")
	case o.Grpc != nil && !grpcCall.MatchString(o.Grpc.Call):
		return fmt.Errorf("grpc.call: must be package.Service/Method, not %q", o.Grpc.Call)
	case o.Socket != nil:
		return o.Socket.validate()
	}
	return nil
}

func (s *socket) validate() error {
	switch {
	case s.Line == nil && s.Contains != nil:
		return errors.New("socket.contains: is for a line; a method has expect")
	case s.Line == nil && !socketMethod.MatchString(s.Method):
		return fmt.Errorf("socket.method: must be 1 to 255 ASCII characters, not %q", s.Method)
	case s.Line != nil && (s.Method != "" || s.Body.value != nil || s.Expect != nil):
		return errors.New("socket.line: has contains, and no method, body or expect")
	}
	return nil
}

func (in *input) validate(seeded map[string]Seeded) error {
	switch in.generator {
	case "seeded":
		if _, ok := seeded[in.Seeded]; !ok {
			return fmt.Errorf("nothing is seeded as %q", in.Seeded)
		}
	case "range":
		if len(in.Range) != 2 || in.Range[1] < in.Range[0] || in.Range[1]-in.Range[0]+1 <= 0 {
			return fmt.Errorf("range must be two numbers, the lower first, not %v", in.Range)
		}
	case "list":
		// A field that is null in some requests would have to be left out of those.
		if items, _ := in.List.value.([]any); len(items) == 0 || slices.Contains(items, nil) {
			return errors.New("list needs items, none of them null")
		}
	case "counter":
		if in.Counter == nil {
			return errors.New("counter can't be null")
		}
	case "payload":
		if len(in.Payload) == 0 {
			return errors.New("payload needs at least one choice")
		}
	case "stream":
		if in.Stream != "items" && in.Stream != "rate_limit_per_s" {
			return fmt.Errorf("stream must be items or rate_limit_per_s, not %q", in.Stream)
		}
	case "repeat":
		if in.Of == nil {
			return errors.New("repeat needs `of`: what is repeated")
		}
		if in.Of.generator == "fresh" || in.Of.generator == "created" {
			return fmt.Errorf("of: %s can't be repeated: make it an input, and name that in counting", in.Of.generator)
		}
		if err := in.Of.validate(seeded); err != nil {
			return fmt.Errorf("of: %w", err)
		}
	}
	return nil
}

var generators = []string{
	"seeded", "fresh", "created", "range", "list", "counter", "text", "bytes", "random_text", "random_bytes", "payload",
	"stream", "repeat", "value",
}

// UnmarshalJSON finds out which generator is given; its value may be null.
func (in *input) UnmarshalJSON(text []byte) error {
	type fields input
	if err := decodeStrictly(text, (*fields)(in)); err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	missing := func(name string) bool { _, ok := given[name]; return !ok }
	found := slices.DeleteFunc(slices.Clone(generators), missing)
	if len(found) != 1 {
		return fmt.Errorf("needs exactly one of %s", strings.Join(generators, ", "))
	}
	in.generator = found[0]
	return nil
}

// ordered is a JSON object that keeps the order of its members: the first payload is the default, and inputs use those
// before them.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

func (o ordered[T]) get(name string) (value T, ok bool) {
	for _, each := range o {
		if each.name == name {
			return each.value, true
		}
	}
	return value, false
}

// UnmarshalJSON reads the members strictly; errors name the member.
func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return fmt.Errorf("must be a mapping, not %s", shorten(text))
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return err
		}
		each := member[T]{name: name.(string)} // A key is always a string.
		if err := decodeStrictly(raw, &each.value); err != nil {
			return fmt.Errorf("%s: %w", each.name, err)
		}
		*o = append(*o, each)
	}
	return nil
}

// decodeStrictly decodes one JSON value, without unknown fields.
func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var mistyped *json.UnmarshalTypeError
	switch err := decoder.Decode(into); {
	case errors.As(err, &mistyped):
		return fmt.Errorf("%s can't be a %s", cmp.Or(mistyped.Field, "it"), mistyped.Value)
	case err != nil:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after its end")
	}
	return nil
}
