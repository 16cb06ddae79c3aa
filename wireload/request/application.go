package request

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/suggest"
)

// Application is what an application file describes.
type Application struct {
	*document
	seeded     ordered[Seeded]
	operations ordered[operation]
	variants   ordered[variant]
	schema     *contract.Schema
	// value is the whole file, with lists in place of the files that have them.
	value any
}

// Seeded are the ids of records that exist before the load: Count of them, from First on.
type Seeded struct {
	First int64 `json:"first"`
	Count int64 `json:"count"`
}

// variant is what an implementation of the application has of its own. Its other keys are the harness's.
type variant struct {
	transport       string
	headers         ordered[field]
	schema, imports list[string]
}

// operation is one kind of request; input has the values in it.
type operation struct {
	place  field
	inputs ordered[input]
	// requests are by transport. Variants have requests in place of those of their transport.
	requests map[string]*exchange
	variants ordered[exchange]
	// same are values that all variants answer alike: paths by transport.
	same   list[ordered[field]]
	stream bool
	writes bool
}

// exchange is a request and its reply on a transport. Fields are templates.
type exchange struct {
	place     field
	transport string
	// target is a method and a path on REST, package.Service/Method on gRPC, and a method on the socket.
	target  string
	headers ordered[field]
	body    field
	// line is sent on the socket in place of a frame.
	line string
	// end names the event that ends a stream on REST.
	end string

	status   int64
	expect   ordered[field]
	contains string
}

// input says how a value of a request is made: by exactly one generator, with its options.
type input struct {
	place     field
	generator string
	// of is the kind of records of seeded, fresh and created, or the setting of a stream.
	of      string
	ends    list[int64]
	counter int64
	choices []any
	payload ordered[field]
	// value is that of value, or the size of text, bytes, random_text, random_bytes and repeat.
	value field

	max, offset int64
	count       field
	counting    string
	repeated    *input
}

var (
	applicationName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,59}$`)
	operationName   = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$`)
	variantName     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	inputName       = regexp.MustCompile(`^[a-z_][a-zA-Z0-9_]*$`)
	payloadName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)
	restRequest     = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) /[!-~]*$`)
	restEnd         = regexp.MustCompile(`^\S{1,100}$`)
	grpcCall        = regexp.MustCompile(`^[\w.]+/\w+$`)
	socketMethod    = regexp.MustCompile(`^[!-~]{1,255}$`)
	transportName   = regexp.MustCompile(`^(rest|grpc|socket)$`)
	streamSetting   = regexp.MustCompile(`^(items|rate_limit_per_s)$`)
)

var transports = []string{"rest", "grpc", "socket"}

// Load reads an application file, as one of its variants gets it, and the variant's messages: a FileDescriptorSet, which
// only loads in protobuf need. An application without variants is read with an empty name. Errors name line and key.
func Load(path, variantName string, descriptors []byte) (*Application, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text, variantName, descriptors)
}

// Parse is the part of Load behind reading the file.
func Parse(path string, text []byte, variantName string, descriptors []byte) (*Application, error) {
	a := parseApplication(path, text)
	if err := a.err(); err != nil {
		return nil, err
	}
	if err := a.selectVariant(variantName); err != nil {
		return nil, err
	}
	var err error
	if a.schema, err = contract.Parse(descriptors); err != nil {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	return a, nil
}

func parseApplication(path string, text []byte) *Application {
	a := &Application{document: &document{path: path}}
	a.value = a.parse(text)
	if len(a.mistakes) == 0 {
		a.read(field{a.document, "", a.value})
	}
	return a
}

func (a *Application) read(f field) {
	f.keys(map[string]any{
		"application": pattern{new(string), applicationName, "a name of lower-case letters, digits, - and _"},
		"seeded":      &a.seeded,
		"operations":  named{operationName, &a.operations},
		"variants":    named{variantName, &a.variants},
	}, "operations")
	for _, each := range a.operations {
		each.value.validate(f.at("operations."+each.name, nil), a.variants)
	}
}

func (s *Seeded) read(f field) {
	s.Count = 1
	f.keys(map[string]any{"first": &s.First, "count": &s.Count}, "first", "count")
	if s.Count < 1 {
		f.at("count", nil).fail("must be at least 1")
	}
}

func (v *variant) read(f field) {
	known := map[string]any{
		"transport": pattern{&v.transport, transportName, "one of rest, grpc, socket"},
		"headers":   &v.headers,
		"schema":    &v.schema,
		"imports":   &v.imports,
	}
	for _, each := range f.each() {
		if into := known[each.name]; into != nil {
			each.value.read(into)
		}
	}
	switch {
	case v.transport == "":
		f.fail("transport is missing: %s", strings.Join(transports, ", "))
	case v.transport != "grpc" && len(v.schema) > 0:
		f.fail("schema is for gRPC")
	case v.transport == "socket" && len(v.headers) > 0:
		f.fail("headers are for REST and gRPC")
	}
}

func (o *operation) read(f field) {
	o.place, o.requests = f, map[string]*exchange{}
	known := map[string]any{
		"inputs":   named{inputName, &o.inputs},
		"variants": &o.variants,
		"stream":   &o.stream,
		"writes":   &o.writes,
		"same":     &o.same,
	}
	for _, transport := range transports {
		known[transport] = func(f field) {
			o.requests[transport] = &exchange{transport: transport}
			o.requests[transport].read(f)
		}
	}
	f.keys(known)
}

// read reads a request; what a variant's has says on which transport it is.
func (e *exchange) read(f field) {
	e.place = f
	fields, _ := f.value.(object)
	if _, ok := fields.get("request"); ok {
		e.transport = cmp.Or(e.transport, "rest")
	} else if _, ok := fields.get("call"); ok {
		e.transport = cmp.Or(e.transport, "grpc")
	}
	switch e.transport {
	case "rest":
		e.readREST(f)
	case "grpc":
		e.body = f.at("message", object{})
		f.keys(map[string]any{
			"call":     pattern{&e.target, grpcCall, "package.Service/Method"},
			"metadata": &e.headers,
			"message":  &e.body,
			"expect":   &e.expect,
		}, "call")
	default:
		e.transport = "socket"
		e.readSocket(f)
	}
}

func (e *exchange) readREST(f field) {
	e.status = 200
	f.keys(map[string]any{
		"request": pattern{&e.target, restRequest, "a method (GET, POST, PUT, PATCH or DELETE) and a path in ASCII without spaces"},
		"headers": &e.headers,
		"body":    &e.body,
		"end":     pattern{&e.end, restEnd, "the name of an event, without spaces"},
		"expect": func(f field) {
			f.keys(map[string]any{"status": &e.status, "json": &e.expect, "contains": &e.contains})
			if e.status < 100 || e.status > 599 {
				f.at("status", nil).fail("must be an HTTP status, from 100 to 599")
			}
		},
	}, "request")
}

func (e *exchange) readSocket(f field) {
	f.keys(map[string]any{
		"method":   pattern{&e.target, socketMethod, "1 to 255 ASCII characters"},
		"body":     &e.body,
		"expect":   &e.expect,
		"line":     &e.line,
		"contains": &e.contains,
	})
	switch {
	case (e.target == "") == (e.line == ""):
		f.fail("needs either method or line")
	case e.line == "" && e.contains != "":
		f.fail("contains is for a line; a method has expect")
	case e.line != "" && (e.body.value != nil || e.expect != nil):
		f.fail("body and expect are for a method; a line has contains")
	case e.body.value == nil:
		e.body = f.at("body", object{})
	}
}

func (in *input) read(f field) {
	in.place = f
	fields, _ := f.value.(object)
	generators := map[string]any{
		"seeded": &in.of, "fresh": &in.of, "created": &in.of,
		"range": &in.ends, "counter": &in.counter,
		"list": in.readChoices,
		"file": func(f field) {
			found, _ := fields.get("column")
			column, _ := found.(string)
			in.readFile(f, column)
		},
		"text": &in.value, "bytes": &in.value, "random_text": &in.value, "random_bytes": &in.value,
		"payload": named{payloadName, &in.payload},
		"stream":  pattern{&in.of, streamSetting, "one of items, rate_limit_per_s"},
		"repeat":  &in.value, "value": &in.value,
	}
	known := map[string]any{
		"max": &in.max, "offset": &in.offset, "count": &in.count, "counting": &in.counting, "column": new(string),
		"of": func(f field) {
			in.repeated = &input{}
			in.repeated.read(f)
		},
	}
	maps.Copy(known, generators)
	f.keys(known)
	var found []string
	for i, each := range fields {
		if generators[each.name] != nil && (each.value != nil || each.name == "value") {
			found = append(found, each.name)
		}
		if each.name == "file" {
			fields[i] = member[any]{"list", in.choices}
		}
	}
	if len(found) == 1 {
		in.generator = found[0]
		in.validate(f)
	} else if fields != nil {
		f.fail("needs exactly one of %s", strings.Join(slices.Sorted(maps.Keys(generators)), ", "))
	}
}

// validate checks what a generator has.
func (in *input) validate(f field) {
	switch at := f.at(in.generator, nil); {
	case in.generator == "range" && (len(in.ends) != 2 || in.ends[1] < in.ends[0] || in.ends[1]-in.ends[0]+1 <= 0):
		at.fail("must be two numbers, the lower first")
	case in.generator == "payload" && len(in.payload) == 0:
		at.fail("needs at least one choice")
	case in.generator == "repeat" && in.repeated == nil:
		f.fail("repeat needs `of`: what is repeated")
	case in.repeated != nil && slices.Contains([]string{"fresh", "created"}, in.repeated.generator):
		f.fail("of: %s can't be repeated: make it an input, and name that in counting", in.repeated.generator)
	}
}

// readChoices reads a list. A field that is null in some requests would have to be left out of those.
func (in *input) readChoices(f field) {
	in.choices, _ = f.value.([]any)
	if len(in.choices) == 0 || slices.Contains(in.choices, nil) {
		f.fail("needs a list of values, none of them null")
	}
}

// validate checks what an operation has of other parts of the file.
func (o *operation) validate(f field, variants ordered[variant]) {
	answered := slices.Collect(maps.Keys(o.requests))
	for _, each := range o.variants {
		answered = append(answered, each.value.transport)
		found, ok := variants.get(each.name)
		switch {
		case !ok:
			f.at("variants", nil).fail("there is no variant %q; %s", each.name, suggest.Name(each.name, variants.names()))
		case found.transport != "" && each.value.transport != found.transport:
			f.at("variants."+each.name, nil).fail("needs a %s request, which the variant has", found.transport)
		}
	}
	for i, paths := range o.same {
		for _, each := range paths {
			if !slices.Contains(answered, each.name) {
				f.at(fmt.Sprintf("same[%d]", i), nil).fail("there is no %s request", each.name)
			}
		}
	}
}

// selectVariant puts requests and headers of a variant in place of those of its transport.
func (a *Application) selectVariant(name string) error {
	if name == "" {
		return nil
	}
	chosen, ok := a.variants.get(name)
	if !ok {
		return fmt.Errorf("%s: there is no variant %q; %s", a.path, name, suggest.Name(name, a.variants.names()))
	}
	for i := range a.operations {
		o := &a.operations[i].value
		requests := maps.Clone(o.requests)
		if own, ok := o.variants.get(name); ok {
			requests = map[string]*exchange{own.transport: &own}
		}
		if sent := requests[chosen.transport]; sent != nil {
			changed := *sent
			changed.headers = mergeHeaders(chosen.headers, changed.headers)
			requests[chosen.transport] = &changed
		}
		o.requests = requests
	}
	return nil
}

// mergeHeaders returns a variant's headers, and then a request's own, which replace those of the same name.
func mergeHeaders(headers, own ordered[field]) (merged ordered[field]) {
	for _, each := range headers {
		overrides := func(other member[field]) bool { return strings.EqualFold(other.name, each.name) }
		if !slices.ContainsFunc(own, overrides) {
			merged = append(merged, each)
		}
	}
	return append(merged, own...)
}

// folder is what paths in the file are relative to.
func (d *document) folder() string { return filepath.Dir(d.path) }
