package request

import (
	"cmp"
	"errors"
	"fmt"
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
	path       string
	seeded     map[string]Seeded
	operations ordered[operation]
	variants   ordered[variant]
	schema     *contract.Schema
	reader     *yamlReader
	// value is the whole file; lists are what data files have, by the key of the input that names one.
	value any
	lists map[string][]any
}

// Seeded are the ids of records that exist before the load: Count of them, from First on.
type Seeded struct {
	First int64 `json:"first"`
	Count int64 `json:"count"`
}

// variant is what an implementation of the application has of its own. Its other keys are the harness's.
type variant struct {
	transport       string
	headers         ordered[string]
	schema, imports []string
}

// operation is one kind of request; input has the values in it.
type operation struct {
	inputs ordered[input]
	exchange
	// variants have requests in place of those of their transport.
	variants ordered[exchange]
	// same are values that all variants answer alike: paths by transport.
	same   []ordered[string]
	stream bool
	writes bool
}

// exchange is a request and its reply on each transport; one of a variant is on the variant's.
type exchange struct {
	rest   *rest
	grpc   *grpc
	socket *socket
}

type rest struct {
	request  string
	headers  ordered[string]
	body     template
	end      string
	status   int
	json     ordered[template]
	contains *string
}

type grpc struct {
	call     string
	metadata ordered[string]
	message  template
	expect   ordered[template]
}

// socket is a method with its body in frames, or a line that a line answers.
type socket struct {
	method string
	body   template
	expect ordered[template]

	line     *string
	contains *string
}

// input says how a value of a request is made: by exactly one generator, with its options.
type input struct {
	generator string

	seeded, fresh, created, stream string
	low, high, counter             int64
	list                           []any
	payload                        ordered[template]
	// value is what text, bytes, random_text, random_bytes and repeat have as their size, or that of value.
	value template

	max, offset int64
	count       template
	counting    string
	of          *input
}

var (
	anyName         = regexp.MustCompile(``)
	applicationName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,59}$`)
	operationName   = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$`)
	variantName     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	inputName       = regexp.MustCompile(`^[a-z_][a-zA-Z0-9_]*$`)
	payloadName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)
	restRequest     = regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) /[!-~]*$`)
	restEnd         = regexp.MustCompile(`^\S{1,100}$`)
	grpcCall        = regexp.MustCompile(`^[\w.]+/\w+$`)
	socketMethod    = regexp.MustCompile(`^[!-~]{1,255}$`)
)

var transports = []string{"rest", "grpc", "socket"}

// Load reads an application file, as one of its variants gets it, and the variant's messages: a FileDescriptorSet, which
// only loads in protobuf need. An application without variants is read with an empty name. Errors name line and key.
func Load(path, variantName string, descriptors []byte) (*Application, error) {
	a, err := readApplication(path)
	if err != nil {
		return nil, err
	}
	return a, a.prepare(variantName, descriptors)
}

// prepare is the part of Load behind reading the file.
func (a *Application) prepare(variantName string, descriptors []byte) (err error) {
	if mistakes := a.reader.mistakes; len(mistakes) > 0 {
		more := ""
		if len(mistakes) > 1 {
			more = fmt.Sprintf("; %d more: wireload check %s", len(mistakes)-1, a.path)
		}
		return fmt.Errorf("%s:%s%s", a.path, mistakes[0], more)
	}
	if err := a.selectVariant(variantName); err != nil {
		return err
	}
	if a.schema, err = contract.Parse(descriptors); err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	return nil
}

// readApplication reads a file. Its reader has the mistakes, in the order of their lines.
func readApplication(path string) (*Application, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseApplication(path, text), nil
}

func parseApplication(path string, text []byte) *Application {
	value, reader := readYAML(text)
	a := &Application{path: path, reader: reader, value: value, lists: map[string][]any{}}
	if len(reader.mistakes) == 0 {
		a.read(field{reader, "", value})
	}
	slices.SortStableFunc(reader.mistakes, func(one, other Mistake) int { return cmp.Compare(one.Line, other.Line) })
	return a
}

func (a *Application) read(f field) {
	a.seeded = map[string]Seeded{}
	isKnown := false
	f.keys(map[string]func(field){
		"application": func(f field) { f.match(applicationName, "a name of lower-case letters, digits, - and _") },
		"seeded": func(f field) {
			for _, each := range f.each() {
				a.seeded[each.name] = readSeeded(each.value)
			}
		},
		"operations": func(f field) {
			isKnown = true
			if a.operations = readEach(f, operationName, a.readOperation); len(a.operations) == 0 {
				f.fail("needs at least one")
			}
		},
		"variants": func(f field) { a.variants = readEach(f, variantName, readVariant) },
	})
	if !isKnown {
		f.fail("operations: is missing")
	}
	for _, each := range a.operations {
		a.validate(each.value, field{f.reader, "operations." + each.name, nil})
	}
}

func readSeeded(f field) (s Seeded) {
	s.Count = 1
	given := f.each()
	f.keys(map[string]func(field){
		"first": func(f field) { s.First = f.whole() },
		"count": func(f field) {
			if s.Count = f.whole(); s.Count < 1 {
				f.failType("at least 1")
			}
		},
	})
	for _, name := range []string{"first", "count"} {
		if _, ok := given.get(name); !ok {
			f.fail("%s is missing", name)
		}
	}
	return s
}

func readVariant(f field) (v variant) {
	texts := func(into *[]string) func(field) {
		return func(f field) {
			for _, each := range f.oneOrMore() {
				*into = append(*into, each.text())
			}
		}
	}
	readers := map[string]func(field){
		"transport": func(f field) { v.transport = f.oneOf(transports) },
		"headers":   func(f field) { v.headers = readEach(f, anyName, field.text) },
		"schema":    texts(&v.schema),
		"imports":   texts(&v.imports),
	}
	for _, each := range f.each() {
		if read := readers[each.name]; read != nil {
			read(each.value)
		}
	}
	_, hasTransport := f.each().get("transport")
	switch {
	case !hasTransport:
		f.fail("transport is missing: %s", strings.Join(transports, ", "))
	case v.transport == "":
	case v.transport != "grpc" && len(v.schema) > 0:
		f.fail("schema is for gRPC")
	case v.transport == "socket" && len(v.headers) > 0:
		f.fail("headers are for REST and gRPC")
	default:
		checkHeaders(field{f.reader, joinKeys(f.key, "headers"), nil}, v.transport, v.headers)
	}
	return v
}

func (f field) oneOf(known []string) string {
	text, _ := f.value.(string)
	if !slices.Contains(known, text) {
		f.failType("one of " + strings.Join(known, ", "))
		return ""
	}
	return text
}

func (a *Application) readOperation(f field) (o operation) {
	readers := map[string]func(field){
		"inputs":      func(f field) { o.inputs = readEach(f, inputName, a.readInput) },
		"variants":    func(f field) { o.variants = readEach(f, anyName, readOwn) },
		"conformance": func(f field) { readEach(f, inputName, a.readInput) },
		"stream":      func(f field) { o.stream = f.bool() },
		"writes":      func(f field) { o.writes = f.bool() },
		"same": func(f field) {
			for _, each := range f.oneOrMore() {
				o.same = append(o.same, readEach(each, anyName, field.plainText))
			}
		},
	}
	for _, transport := range transports {
		readers[transport] = func(f field) { o.exchange.read(transport, f) }
	}
	f.keys(readers)
	return o
}

// read reads a request on a transport; null means that there is no request.
func (e *exchange) read(transport string, f field) {
	switch {
	case f.value == nil:
	case transport == "rest":
		e.rest = readRest(f)
	case transport == "grpc":
		e.grpc = readGrpc(f)
	default:
		e.socket = readSocket(f)
	}
}

// readOwn reads a variant's request: what it has says on which transport it is.
func readOwn(f field) (e exchange) {
	given := f.each()
	transport := "socket"
	if _, ok := given.get("request"); ok {
		transport = "rest"
	} else if _, ok := given.get("call"); ok {
		transport = "grpc"
	}
	e.read(transport, f)
	return e
}

func (e *exchange) has(transport string) bool {
	return transport == "rest" && e.rest != nil || transport == "grpc" && e.grpc != nil || transport == "socket" && e.socket != nil
}

func readRest(f field) *rest {
	r := &rest{status: 200}
	f.keys(map[string]func(field){
		"request": func(f field) {
			r.request = f.match(restRequest, "a method (GET, POST, PUT, PATCH or DELETE) and a path in ASCII without spaces")
		},
		"headers": func(f field) { r.headers = readHeaders(f, "rest") },
		"body":    func(f field) { r.body = f.template() },
		"end": func(f field) {
			if r.end = f.match(restEnd, "the name of an event, without spaces"); r.end == "message" || r.end == "error" {
				f.fail("events named message are items, and one named error fails the stream")
			}
		},
		"expect": func(f field) {
			f.keys(map[string]func(field){
				"status": func(f field) {
					if r.status = int(f.whole()); r.status < 100 || r.status > 599 {
						f.failType("an HTTP status, from 100 to 599")
					}
				},
				"json":     func(f field) { r.json = readEach(f, anyName, field.template) },
				"contains": func(f field) { r.contains = f.optionalText() },
			})
		},
	})
	if r.request == "" {
		f.fail("request is missing")
	}
	return r
}

func readGrpc(f field) *grpc {
	g := &grpc{message: template{object{}}}
	f.keys(map[string]func(field){
		"call":     func(f field) { g.call = f.match(grpcCall, "package.Service/Method") },
		"metadata": func(f field) { g.metadata = readHeaders(f, "grpc") },
		"message":  func(f field) { g.message = f.mapping() },
		"expect":   func(f field) { g.expect = readEach(f, anyName, field.template) },
	})
	if g.call == "" {
		f.fail("call is missing")
	}
	return g
}

func readSocket(f field) *socket {
	s := &socket{body: template{object{}}}
	given := f.each()
	f.keys(map[string]func(field){
		"method":   func(f field) { s.method = f.match(socketMethod, "1 to 255 ASCII characters") },
		"body":     func(f field) { s.body = f.mapping() },
		"expect":   func(f field) { s.expect = readEach(f, anyName, field.template) },
		"contains": func(f field) { s.contains = f.optionalText() },
		"line": func(f field) {
			if s.line = f.optionalText(); s.line != nil {
				f.reject(CheckLine([]byte(*s.line)))
			}
		},
	})
	_, hasBody := given.get("body")
	switch {
	case (s.method == "") == (s.line == nil):
		f.fail("needs either method or line")
	case s.line == nil && s.contains != nil:
		f.fail("contains is for a line; a method has expect")
	case s.line != nil && (hasBody || s.expect != nil):
		f.fail("body and expect are for a method; a line has contains")
	}
	return s
}

// mapping is a template that is a mapping.
func (f field) mapping() template {
	f.each()
	return f.template()
}

func readHeaders(f field, transport string) ordered[string] {
	headers := readEach(f, anyName, field.text)
	checkHeaders(f, transport, headers)
	return headers
}

var generators = []string{
	"seeded", "fresh", "created", "range", "list", "file", "counter", "text", "bytes", "random_text", "random_bytes",
	"payload", "stream", "repeat", "value",
}

func (a *Application) readInput(f field) input {
	var in input
	var found []string
	column := ""
	readers := map[string]func(field){
		"max":      func(f field) { in.max = f.whole() },
		"offset":   func(f field) { in.offset = f.whole() },
		"count":    func(f field) { in.count = f.count() },
		"counting": func(f field) { in.counting = f.text() },
		"column":   func(f field) { column = f.text() },
		"of":       func(f field) { of := a.readInput(f); in.of = &of },
	}
	given := f.each()
	for _, name := range generators {
		readers[name] = nil
		if _, ok := given.get(name); ok {
			found = append(found, name)
		}
	}
	f.keys(readers)
	if len(found) != 1 {
		f.fail("needs exactly one of %s", strings.Join(generators, ", "))
		return in
	}
	in.generator = found[0]
	value, _ := given.get(in.generator)
	if (value.value == nil || value.value == "") && in.generator != "value" {
		value.fail("needs a value")
		return in
	}
	in.readGenerator(value)
	if in.generator == "file" {
		in.generator = "list"
		in.list = a.readChoices(value, column)
		a.lists[f.key] = in.list
	}
	if in.of != nil && (in.of.generator == "fresh" || in.of.generator == "created") {
		f.fail("of: %s can't be repeated: make it an input, and name that in counting", in.of.generator)
	}
	if in.generator == "repeat" && in.of == nil {
		f.fail("repeat needs `of`: what is repeated")
	}
	return in
}

func (in *input) readGenerator(f field) {
	switch in.generator {
	case "seeded":
		in.seeded = f.text()
	case "fresh":
		in.fresh = f.text()
	case "created":
		in.created = f.text()
	case "range":
		in.readRange(f)
	case "list":
		in.list, _ = f.template().value.([]any)
		// A field that is null in some requests would have to be left out of those.
		if len(in.list) == 0 || slices.Contains(in.list, nil) {
			f.fail("needs items, none of them null")
		}
	case "counter":
		in.counter = f.whole()
	case "payload":
		if in.payload = readEach(f, payloadName, field.template); len(in.payload) == 0 {
			f.fail("needs at least one choice")
		}
	case "stream":
		in.stream = f.oneOf([]string{"items", "rate_limit_per_s"})
	case "value":
		in.value = f.template()
	case "text", "bytes", "random_text", "random_bytes", "repeat":
		in.value = f.count()
	}
}

func (in *input) readRange(f field) {
	ends := f.oneOrMore()
	if len(ends) != 2 {
		f.fail("must be two numbers, the lower first")
		return
	}
	before := len(f.reader.mistakes)
	in.low, in.high = ends[0].whole(), ends[1].whole()
	if len(f.reader.mistakes) > before {
		return
	}
	if in.high < in.low || in.high-in.low+1 <= 0 {
		f.fail("must be two numbers, the lower first, not %d and %d", in.low, in.high)
	}
}

// validate checks what an operation has of other parts of the file.
func (a *Application) validate(o operation, f field) {
	at := func(key string) field { return field{f.reader, joinKeys(f.key, key), nil} }
	for _, each := range o.inputs {
		for in := &each.value; in != nil; in = in.of {
			if _, ok := a.seeded[in.seeded]; in.seeded != "" && !ok {
				at("inputs."+each.name).fail("nothing is seeded as %q", in.seeded)
			}
		}
	}
	requests := ordered[exchange]{{"", o.exchange}}
	for _, each := range o.variants {
		requests = append(requests, member[exchange]{"variants." + each.name, each.value})
		found, ok := a.variants.get(each.name)
		switch {
		case !ok:
			at("variants").fail("there is no variant %q; %s", each.name, suggest.Name(each.name, a.variants.names()))
		case found.transport != "" && !each.value.has(found.transport):
			at("variants."+each.name).fail("needs a %s request, which the variant has", found.transport)
		}
	}
	for _, each := range requests {
		if each.value.rest != nil && each.value.rest.end != "" && !o.stream {
			at(joinKeys(cmp.Or(each.name, "rest"), "end")).fail("only a stream has an event that ends it")
		}
	}
	for i, paths := range o.same {
		for _, each := range paths {
			has := func(request member[exchange]) bool { return request.value.has(each.name) }
			if !slices.ContainsFunc(requests, has) {
				at(fmt.Sprintf("same[%d]", i)).fail("there is no %s request", each.name)
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
		if own, ok := o.variants.get(name); ok {
			o.exchange = own
		}
		if o.rest != nil && chosen.transport == "rest" {
			changed := *o.rest
			changed.headers = mergeHeaders(chosen.headers, changed.headers)
			o.rest = &changed
		}
		if o.grpc != nil && chosen.transport == "grpc" {
			changed := *o.grpc
			changed.metadata = mergeHeaders(chosen.headers, changed.metadata)
			o.grpc = &changed
		}
	}
	return nil
}

// mergeHeaders returns a variant's headers, and then a request's own, which replace those of the same name.
func mergeHeaders(headers, own ordered[string]) (merged ordered[string]) {
	for _, each := range headers {
		overrides := func(other member[string]) bool { return strings.EqualFold(other.name, each.name) }
		if !slices.ContainsFunc(own, overrides) {
			merged = append(merged, each)
		}
	}
	return append(merged, own...)
}

// folder is what paths in the file are relative to.
func (a *Application) folder() string { return filepath.Dir(a.path) }

// locate returns an error with the file, the line and the key that it is at.
func (a *Application) locate(err error) error {
	var found *keyError
	if !errors.As(err, &found) {
		return err
	}
	return fmt.Errorf("%s:%d: %w", a.path, a.reader.lineOf(found.key), err)
}

// ordered is a mapping that keeps the order of its members: the first payload is the default, and inputs use those
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

func (o ordered[T]) names() (names []string) {
	for _, each := range o {
		names = append(names, each.name)
	}
	return names
}
