package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
)

// dialPause is what a user waits by hand after a connection that couldn't be opened. Jobs have no pause: it would be part
// of the rates that runs compare.
const dialPause = 10 * time.Millisecond

// hand is a load by hand: a job, and the one request that it sends.
type hand struct {
	Job
	sent                      request.Request
	overTLS                   bool
	duration, warmup, timeout time.Duration
	calls                     int
	authority, data, protoset string
	line                      string
	wrong                     error
}

func (h *hand) flags(out io.Writer) *flag.FlagSet {
	set := flag.NewFlagSet("wireload", flag.ContinueOnError)
	set.SetOutput(out)
	set.IntVar(&h.Concurrency, "c", 16, "`users`, each with one request at a time on a connection of its own")
	set.IntVar(&h.Connections, "connections", 0, "for grpc and --h2c: a `number` of connections that all users share")
	set.DurationVar(&h.duration, "d", 10*time.Second, "measure for a `time`: 500ms, 10s or 1m30s")
	set.IntVar(&h.calls, "n", 0, "a `number` of requests, rounded up to a multiple of -c, without a warm-up; -d is then the longest time")
	set.DurationVar(&h.warmup, "warmup", 500*time.Millisecond, "load for this `time` before the measurement")
	set.Int64Var(&h.RatePerS, "rate", 0, "`requests` per second, whether the service keeps up or not; 0: as many as get replies")
	set.DurationVar(&h.timeout, "timeout", 10*time.Second, "a request that takes longer than this `time` has failed; of a stream, the longest between two items")
	set.BoolVar(&h.H2C, "h2c", false, "HTTP/2 in clear text, with prior knowledge, for rest")
	set.StringVar(&h.sent.Method, "X", "", "HTTP `method`; GET, or POST with --data")
	set.StringVar(&h.data, "data", "", "body as `JSON`, or @file; for gRPC the JSON form of the message")
	set.Func("header", "`'Name: value'`, any number of times; metadata for grpc. ${NAME} is a variable of the environment", h.addHeader)
	set.StringVar(&h.line, "line", "", "for socket, send a `text` as a line that a line answers")
	set.StringVar(&h.protoset, "protoset", "", "`file` with compiled descriptors, for gRPC's messages (wireload schema)")
	set.BoolVar(&h.sent.Stream, "stream", false, "the reply is a stream: measure the gaps between its items")
	set.BoolVar(&h.overTLS, "tls", false, "TLS for grpc and socket; rest has it by https://")
	set.StringVar(&h.authority, "cacert", "", "PEM `file` of the authority to trust; the system's without it")
	set.StringVar(&h.Output, "output", "", "write the histogram `file` (docs/histogram-file.md)")
	return set
}

func printHelp(out io.Writer) {
	fmt.Fprint(out, usage)
	new(hand).flags(out).PrintDefaults()
}

// runByHand sends the same request over and over, and prints what came of it.
func runByHand(ctx context.Context, transport string, arguments []string, out io.Writer) error {
	h := &hand{Job: Job{Requests: request.Options{Transport: transport}, Generators: 1, RequestsEach: 1}}
	set := h.flags(io.Discard)
	var others []string
	for len(arguments) > 0 { // Flags may stand behind the other arguments.
		if err := set.Parse(arguments); errors.Is(err, flag.ErrHelp) {
			printHelp(out)
			return err
		} else if err != nil {
			return errUsage{err}
		}
		others = append(others, set.Args()[:min(1, set.NArg())]...)
		arguments = set.Args()[min(1, set.NArg()):]
	}
	if err := h.read(others); err != nil {
		return err
	}
	if err := h.validate("by hand"); err != nil {
		return errUsage{err}
	}
	load, err := h.newLoad()
	if err != nil {
		return err
	}
	load.DialPause = dialPause
	load.NewSource = func(int) request.Source { return &request.Constant{Request: h.sent} }
	if err := h.connect(load, h.line != ""); err != nil {
		return err
	}
	measured, err := measure(ctx, load, h.Output)
	if measured.Schema != "" { // Also if its file can't be written.
		err = errors.Join(printSummary(out, measured), err)
	}
	received := measured.RequestsTotal[histogram.OK]
	if measured.Streams != nil {
		received += measured.Streams.Items
	}
	if err == nil && received == 0 && ctx.Err() == nil {
		err = errors.New("no request succeeded")
	}
	return err
}

// read fills in the job and the request.
func (h *hand) read(others []string) (err error) {
	h.WindowS, h.TimeoutS = h.duration.Seconds(), h.timeout.Seconds()
	if h.Concurrency > 0 {
		h.Calls = (h.calls + h.Concurrency - 1) / h.Concurrency
	}
	if warmupS := h.warmup.Seconds(); h.calls == 0 {
		h.WarmupS = &warmupS
	}
	transport := h.Requests.Transport
	wanted, what := 2, "an address and a method"
	switch {
	case transport == "rest":
		wanted, what = 1, "a URL"
	case h.line != "":
		wanted, what = 1, "an address, and a method or --line"
	}
	switch {
	case h.wrong != nil:
		return errUsage{h.wrong}
	case len(others) != wanted || h.line != "" && transport != "socket":
		return newUsageError("%s wants %s", transport, what)
	case transport == "socket" && len(h.sent.Headers) > 0:
		return newUsageError("a header is for rest and grpc")
	}
	h.Addresses, h.sent.Operation = others[:1], strings.TrimPrefix(others[wanted-1], "/")
	h.sent.Body = []byte(h.data)
	if path, isFile := strings.CutPrefix(h.data, "@"); isFile {
		if h.sent.Body, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	if transport == "rest" {
		err = h.readURL(others[0])
	} else if _, _, err = net.SplitHostPort(others[0]); err != nil {
		return newUsageError("%q is not an address like 127.0.0.1:9000", others[0])
	}
	switch {
	case err != nil:
	case h.line != "":
		h.sent.Body = []byte(h.line)
		if err = request.CheckLine(h.sent.Body); err != nil {
			return errUsage{err}
		}
	case transport == "grpc":
		h.sent.Path = []byte("/" + h.sent.Operation)
		h.sent.Body, err = h.encode()
	case transport == "socket":
		h.sent.Path = []byte(h.sent.Operation)
	}
	switch {
	case h.overTLS:
		h.TLS = &jobTLS{Authority: h.authority}
	case h.authority != "" && err == nil:
		err = newUsageError("--cacert is for TLS: add --tls, or write https:// in the URL")
	}
	return err
}

// addHeader keeps its error: that of an option would show the value, which may be a secret.
func (h *hand) addHeader(given string) error {
	name, value, ok := strings.Cut(given, ":")
	header, err := makeHeader(h.Requests.Transport, name, strings.TrimSpace(value))
	if !ok {
		err = errors.New("a header must be 'Name: value'")
	}
	h.sent.Headers, h.wrong = append(h.sent.Headers, header), cmp.Or(h.wrong, err)
	return nil
}

func (h *hand) readURL(text string) error {
	target, err := url.Parse(text)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" || target.User != nil {
		return newUsageError("not a URL like http://127.0.0.1:5000/path, without a user")
	}
	h.overTLS = target.Scheme == "https"
	if h.Addresses[0] = target.Host; target.Port() == "" {
		h.Addresses[0] += map[bool]string{false: ":80", true: ":443"}[h.overTLS]
	}
	if h.sent.Method == "" {
		h.sent.Method = map[bool]string{false: "GET", true: "POST"}[len(h.sent.Body) > 0]
	}
	h.sent.Operation, h.sent.Path = h.sent.Method+" "+target.EscapedPath(), []byte(target.RequestURI())
	h.sent.ContentType, h.sent.Accept, h.sent.Idempotent = "application/json", "*/*", request.IsIdempotent(h.sent.Method)
	return nil
}

// encode returns the message that the data are.
func (h *hand) encode() ([]byte, error) {
	if h.protoset == "" && len(h.sent.Body) == 0 {
		return nil, nil
	}
	descriptors, err := os.ReadFile(h.protoset)
	if err != nil {
		return nil, fmt.Errorf("--data needs the descriptors of its message, --protoset: %w", err)
	}
	schema, err := contract.Parse(descriptors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", h.protoset, err)
	}
	return schema.Encode(h.sent.Operation, h.sent.Body)
}
