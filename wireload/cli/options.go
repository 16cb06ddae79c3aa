package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/schedule"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/grpc"
	"wirebench.dev/wireload/transport/rest"
	"wirebench.dev/wireload/transport/socket"
	"wirebench.dev/wireload/variable"
)

// connectionsMax bounds the memory that connections take before the first request is sent.
const connectionsMax = 100_000

// dialPause is what a user waits by hand after a connection that couldn't be opened. Jobs have no pause: it would be part
// of the rates that runs compare.
const dialPause = 10 * time.Millisecond

// options are the flags of rest, grpc and socket.
type options struct {
	transportSetup
	connections, connectionsMax, calls int
	rate                               int64
	duration, warmup                   time.Duration
	method, data, contentType, accept  string
	protoset, codec, call              string
	arrivals, output                   string
	stream, quiet                      bool
	headers, metadata                  []string
	line                               *string
}

func (o *options) flags() *flag.FlagSet {
	set := flag.NewFlagSet("wireload", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.IntVar(&o.connections, "c", 16, "connections, each with one request at a time; with --connections, users")
	set.IntVar(&o.shared, "connections", 0, "for grpc and --h2c, a `number` of connections that all -c share; 0 is one for each")
	addTime(set, &o.duration, "d", 10*time.Second, "measure for a `time`: 500ms, 10s or 1m30s")
	set.IntVar(&o.calls, "n", 0, "send this number of requests, rounded up to a multiple of -c, without a warm-up; -d is then the longest that it may take")
	addTime(set, &o.warmup, "warmup", 500*time.Millisecond, "load for this `time` before the measurement; not with -n")
	set.Int64Var(&o.rate, "rate", 0, "requests per second, whether the service keeps up or not; 0 is as many as get replies")
	set.StringVar(&o.arrivals, "arrivals", "", "instead of a rate a `file`: a JSON list of when requests are due, in ns from the start of the warm-up")
	set.IntVar(&o.connectionsMax, "max-connections", 0, "with --rate or --arrivals, open up to this number when all are busy; 0 is no more than -c")
	addTime(set, &o.timeout, "timeout", 10*time.Second, "a request that takes longer than this `time` has failed; of a stream, the longest between two items")
	set.BoolVar(&o.reopen, "reopen", false, "a fresh connection for every request")
	set.BoolVar(&o.h2c, "h2c", false, "HTTP/2 in clear text, with prior knowledge, for rest")
	set.StringVar(&o.method, "X", "", "HTTP method, for rest; GET, or POST with --data")
	set.StringVar(&o.data, "data", "", "body as JSON, or @file; for gRPC and protobuf the JSON form of the message")
	set.StringVar(&o.contentType, "content-type", "application/json", "of --data, for rest")
	set.StringVar(&o.accept, "accept", "*/*", "media types to accept, for rest")
	set.Func("header", "send a header, for rest: `'Name: value'`, any number of times; ${NAME} is a variable of the environment", appendTo(&o.headers))
	set.Func("metadata", "the same for grpc: `'key: value'`; base64 for keys that end in -bin", appendTo(&o.metadata))
	set.Func("line", "for socket, send a `text` as a line that a line answers", func(given string) error {
		o.line = &given
		return nil
	})
	set.StringVar(&o.codec, "codec", "json", "json or protobuf bodies, for socket")
	set.StringVar(&o.call, "call", "", "for socket with --codec protobuf, the gRPC method that has the same messages")
	set.StringVar(&o.protoset, "protoset", "", "`file` with compiled descriptors, for messages")
	set.BoolVar(&o.stream, "stream", false, "the reply is a stream: measure the gaps between its items")
	set.BoolVar(&o.overTLS, "tls", false, "TLS for grpc and socket; rest has it by https://")
	set.StringVar(&o.authority, "cacert", "", "PEM `file` of the authority to trust; the system's without it")
	set.StringVar(&o.output, "output", "", "write the histogram `file` (docs/histogram-file.md)")
	set.BoolVar(&o.quiet, "quiet", false, "print the summary alone: neither what is sent nor a line of progress")
	return set
}

// timeValue is a duration as a flag. The message of flag's own for one without a unit is "parse error".
type timeValue time.Duration

func addTime(set *flag.FlagSet, at *time.Duration, name string, otherwise time.Duration, usage string) {
	*at = otherwise
	set.Var((*timeValue)(at), name, usage)
}

func (t *timeValue) String() string { return time.Duration(*t).String() }

func (t *timeValue) Set(given string) error {
	parsed, err := time.ParseDuration(given)
	if err != nil {
		return errors.New("write a number with its unit, such as 500ms, 10s or 1m30s")
	}
	*t = timeValue(parsed)
	return nil
}

func appendTo(all *[]string) func(string) error {
	return func(given string) error {
		*all = append(*all, given)
		return nil
	}
}

func printHelp(out io.Writer) {
	var o options
	set := o.flags()
	fmt.Fprint(out, usage)
	set.VisitAll(func(each *flag.Flag) {
		name, text := flag.UnquoteUsage(each)
		dashes := "--"
		if len(each.Name) == 1 {
			dashes = " -"
		}
		if each.DefValue != "" && each.DefValue != "0" && each.DefValue != "false" {
			text += " (" + each.DefValue + ")"
		}
		fmt.Fprintf(out, "  %-26s %s\n", strings.TrimSpace(dashes+each.Name+" "+name), text)
	})
}

// parse reads flags wherever they stand among the other arguments, and returns those.
func (o *options) parse(arguments []string) ([]string, error) {
	set := o.flags()
	var others []string
	for len(arguments) > 0 {
		if err := set.Parse(arguments); err != nil {
			return nil, err
		}
		if set.NArg() == 0 {
			break
		}
		others = append(others, set.Arg(0))
		arguments = set.Args()[1:]
	}
	return others, o.validate()
}

func (o *options) validate() error {
	switch {
	case o.connections < 1 || max(o.connections, o.connectionsMax) > connectionsMax:
		return newUsageError("-c must be at least 1, and --max-connections and it at most %d", connectionsMax)
	case o.duration <= 0 || o.timeout <= 0 || o.warmup < 0:
		return newUsageError("-d and --timeout must be positive, and --warmup not negative")
	case o.rate < 0 || o.calls < 0:
		return newUsageError("--rate and -n must not be negative")
	case o.rate > 0 && o.calls > 0 || o.rate > 0 && o.arrivals != "" || o.calls > 0 && o.arrivals != "":
		return newUsageError("-n, --rate and --arrivals exclude each other")
	case o.connectionsMax != 0 && (o.connectionsMax < o.connections || o.rate == 0 && o.arrivals == ""):
		return newUsageError("--max-connections needs --rate or --arrivals, and must be at least -c")
	case o.codec != "json" && o.codec != "protobuf":
		return newUsageError("--codec must be json or protobuf")
	}
	return nil
}

func runByHand(ctx context.Context, transportName string, arguments []string, out, log io.Writer) error {
	var o options
	others, err := o.parse(arguments)
	switch {
	case err == flag.ErrHelp: //nolint:errorlint // flag returns it as it is.
		printHelp(out)
		return err
	case err != nil:
		return errUsage{err}
	}
	load, err := o.load(transportName, others)
	if err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintln(out, o.describe(transportName, others))
		load.OnSecond = progress{log, o.duration}.show
	}
	measured, err := measure(ctx, load, o.output)
	if measured.Schema != "" { // Also if its file can't be written.
		err = errors.Join(printSummary(out, measured), err)
	}
	if err != nil {
		return err
	}
	received := measured.RequestsTotal[histogram.OK]
	if measured.Streams != nil {
		received += measured.Streams.Items
	}
	if received == 0 && ctx.Err() == nil {
		return errors.New("no request succeeded")
	}
	return nil
}

func (o *options) describe(transportName string, others []string) string {
	pace := "as fast as replies come"
	long := fmt.Sprintf("for %s after %s of warm-up", o.duration, o.warmup)
	switch {
	case o.rate > 0:
		pace = fmt.Sprintf("%d requests/s", o.rate)
	case o.arrivals != "":
		pace = "arrivals of " + o.arrivals
	case o.calls > 0:
		pace = fmt.Sprintf("%d requests", o.callsEach()*o.connections)
		long = fmt.Sprintf("for %s at most, without warm-up", o.duration)
	}
	on := fmt.Sprintf("%d connections", o.connections)
	if o.shared > 0 {
		on = fmt.Sprintf("%d users on %d connections", o.connections, o.shared)
	}
	return fmt.Sprintf("%s %s: %s, %s, %s", transportName, strings.Join(others, " "), on, pace, long)
}

// callsEach returns how many requests each connection sends.
func (o *options) callsEach() int { return (o.calls + o.connections - 1) / o.connections }

// load returns the load that the flags and the other arguments describe.
func (o *options) load(transportName string, others []string) (*engine.Load, error) {
	constant, address, err := o.request(transportName, others)
	if err != nil {
		return nil, err
	}
	load := &engine.Load{
		Addresses:  []string{address},
		NewSource:  func(int) request.Source { return constant },
		Users:      o.connections,
		UsersMax:   o.connectionsMax,
		Generators: 1,
		Duration:   o.warmup + o.duration,
		Timeout:    o.timeout,
		Reopen:     o.reopen,
		DialPause:  dialPause,
		Measured:   histogram.Options{Warmup: o.warmup, Window: o.duration},
	}
	if o.calls > 0 {
		load.Calls = o.callsEach()
		load.Measured.Calls = min(load.Calls*o.connections, histogram.CallsMax)
		load.Duration, load.Measured.Warmup = o.duration, 0
	}
	if o.rate > 0 {
		load.Due = schedule.AtRate(o.rate)
	}
	if o.arrivals != "" {
		if load.Due, err = schedule.ReadListed(o.arrivals); err != nil {
			return nil, err
		}
	}
	o.transport, o.lines, o.protobuf = transportName, o.line != nil, o.codec == "protobuf"
	return load, o.apply(load)
}

// request returns what is sent over and over, and where to.
func (o *options) request(transportName string, others []string) (*request.Constant, string, error) {
	body, err := readData(o.data)
	if err != nil {
		return nil, "", err
	}
	headers, err := o.readHeaders(transportName)
	if err != nil {
		return nil, "", err
	}
	if transportName == "rest" {
		return o.restRequest(others, headers, body)
	}
	if o.line != nil {
		return o.lineRequest(transportName, others)
	}
	if len(others) != 2 {
		return nil, "", newUsageError("%s wants an address and a method", transportName)
	}
	address, method := others[0], strings.TrimPrefix(others[1], "/")
	if err := checkAddress(address); err != nil {
		return nil, "", err
	}
	call := method
	if transportName == "socket" {
		call = o.call
	} else if service, name, ok := strings.Cut(method, "/"); !ok || service == "" || name == "" {
		return nil, "", newUsageError("%q is not a method like package.Service/Method", method)
	}
	if transportName == "grpc" || o.codec == "protobuf" {
		if body, err = o.encode(call, body); err != nil {
			return nil, "", err
		}
	}
	made := &request.Constant{Request: request.Request{Operation: method, Path: []byte(method), Headers: headers, Body: body, Stream: o.stream}}
	if transportName == "grpc" {
		made.Request.Path = []byte("/" + method)
	}
	return made, address, nil
}

func checkAddress(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return newUsageError("%q is not an address like 127.0.0.1:9000", address)
	}
	return nil
}

// readHeaders returns the headers or metadata that are asked for.
func (o *options) readHeaders(transportName string) (made []request.Header, err error) {
	if len(o.headers) > 0 && transportName != "rest" || len(o.metadata) > 0 && transportName != "grpc" {
		return nil, newUsageError("--header is for rest, and --metadata for grpc")
	}
	for _, given := range slices.Concat(o.headers, o.metadata) {
		name, value, ok := strings.Cut(given, ":")
		if !ok {
			return nil, newUsageError("a header must be 'Name: value'")
		}
		if value, err = variable.Expand(strings.TrimSpace(value)); err != nil {
			return nil, newUsageError("%s: %w", name, err)
		}
		header, err := request.NewHeader(transportName, name, []byte(value))
		if err != nil {
			return nil, errUsage{err}
		}
		made = append(made, header)
	}
	return made, nil
}

func (o *options) lineRequest(transportName string, others []string) (*request.Constant, string, error) {
	if transportName != "socket" || len(others) != 1 || o.stream || o.data != "" || o.codec != "json" {
		return nil, "", newUsageError("--line is for socket, with an address and without a method, data, codec or stream")
	}
	if err := request.CheckLine([]byte(*o.line)); err != nil {
		return nil, "", errUsage{err}
	}
	made := &request.Constant{Request: request.Request{Operation: "line", Body: []byte(*o.line)}}
	return made, others[0], checkAddress(others[0])
}

func (o *options) restRequest(others []string, headers []request.Header, body []byte) (*request.Constant, string, error) {
	if len(others) != 1 {
		return nil, "", newUsageError("rest wants a URL")
	}
	target, err := url.Parse(others[0])
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, "", newUsageError("%q is not a URL like http://127.0.0.1:5000/path", others[0])
	}
	if target.User != nil {
		return nil, "", newUsageError("a user in the URL is not sent: write --header 'Authorization: ...'")
	}
	if o.overTLS && target.Scheme == "http" {
		return nil, "", newUsageError("--tls is for grpc and socket: write https:// in the URL")
	}
	o.overTLS = target.Scheme == "https"
	address := target.Host
	if target.Port() == "" {
		address += map[bool]string{false: ":80", true: ":443"}[o.overTLS]
	}
	method := o.method
	if strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, "", newUsageError("-X %q is not an HTTP method", method)
	}
	if method == "" {
		method = "GET"
		if len(body) > 0 {
			method = "POST"
		}
	}
	return &request.Constant{Request: request.Request{
		Operation: method + " " + target.EscapedPath(), Method: method, Path: []byte(target.RequestURI()),
		ContentType: o.contentType, Accept: o.accept, Headers: headers, Body: body, Stream: o.stream,
		Idempotent: request.IsIdempotent(method),
	}}, address, nil
}

func (o *options) encode(method string, body []byte) ([]byte, error) {
	if o.protoset == "" {
		if len(body) == 0 {
			return nil, nil
		}
		return nil, newUsageError("--data as a message needs its descriptors: --protoset")
	}
	descriptors, err := os.ReadFile(o.protoset)
	if err != nil {
		return nil, err
	}
	schema, err := contract.Parse(descriptors)
	if err != nil {
		return nil, fmt.Errorf("%s is no set of descriptors: %w", o.protoset, err)
	}
	return schema.Encode(method, body)
}

func readData(data string) ([]byte, error) {
	if path, ok := strings.CutPrefix(data, "@"); ok {
		return os.ReadFile(path)
	}
	return []byte(data), nil
}

// transportSetup is what clients and their connections are made of.
type transportSetup struct {
	transport                string
	lines, protobuf, overTLS bool
	h2c, reopen              bool
	// shared is how many connections the users share; 0 is one for each.
	shared    int
	timeout   time.Duration
	authority string
}

// hostOf returns an address as clients name it to the service: without the port that the scheme stands for.
func hostOf(address string, overTLS bool) string {
	return strings.TrimSuffix(address, map[bool]string{false: ":80", true: ":443"}[overTLS])
}

// apply has a load use the transport.
func (s transportSetup) apply(load *engine.Load) error {
	if s.h2c && (s.transport != "rest" || s.overTLS) {
		return newUsageError("h2c is for rest, and without TLS")
	}
	switch {
	case s.shared == 0:
	case s.shared < 0 || s.shared > load.Users:
		return newUsageError("connections must be from 1 to the %d users", load.Users)
	case s.transport != "grpc" && !s.h2c:
		return newUsageError("connections are shared over grpc and h2c: HTTP/1.1 and the socket have one request at a time on each")
	case s.reopen:
		return newUsageError("connections that are shared exclude reopen")
	}
	load.Connections = s.shared
	switch s.transport {
	case "rest":
		if s.h2c {
			load.NewClient = func(address string) transport.Client { return rest.NewH2C(hostOf(address, false)) }
			break
		}
		load.NewClient = func(address string) transport.Client { return rest.New(hostOf(address, s.overTLS), s.reopen) }
	case "grpc":
		load.NewClient = func(address string) transport.Client { return grpc.New(address, s.overTLS, s.timeout) }
		load.Protocols = []string{"h2"}
	case "socket":
		if s.lines {
			load.NewClient = func(string) transport.Client { return socket.NewLine() }
			break
		}
		load.NewClient = func(string) transport.Client { return socket.New(s.protobuf) }
	default:
		return newUsageError("transport must be rest, grpc or socket, not %q", s.transport)
	}
	if !s.overTLS {
		if s.authority != "" {
			return newUsageError("--cacert is for TLS: add --tls, or write https:// in the URL of rest")
		}
		return nil
	}
	var err error
	load.TLS, err = readTLS(s.authority)
	return err
}
