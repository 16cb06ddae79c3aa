package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
)

// hand is a load by hand: a job whose application has one operation.
type hand struct {
	Job
	duration, warmup, timeout time.Duration
	isTLS                     bool
	authority, method         string
	status                    int
	headers                   []string
}

func (h *hand) flags() *flag.FlagSet {
	set := flag.NewFlagSet("wireload", flag.ContinueOnError)
	set.IntVar(&h.Users, "c", 16, "`users`, each with a connection of its own")
	set.IntVar(&h.Connections, "connections", 0, "for grpc and --h2c: a `number` of connections that users share")
	set.DurationVar(&h.duration, "d", 10*time.Second, "measure for a `time`: 500ms, 10s or 1m30s")
	set.DurationVar(&h.warmup, "warmup", 500*time.Millisecond, "load for this `time` before the measurement")
	set.Int64Var(&h.RatePerS, "rate", 0, "`requests` per second; 0: as many as get replies")
	set.DurationVar(&h.timeout, "timeout", 10*time.Second, "the longest `time` for a reply, or between items of a stream")
	set.BoolVar(&h.H2C, "h2c", false, "HTTP/2 in clear text, with prior knowledge, for rest")
	set.StringVar(&h.method, "X", "", "HTTP `method`; GET, or POST with a body")
	set.IntVar(&h.status, "status", 200, "HTTP `status` of a right reply")
	set.Func("header", "`'Name: value'`, repeatable; ${NAME} is an environment variable", func(given string) error {
		h.headers = append(h.headers, given)
		return nil
	})
	set.BoolVar(&h.isTLS, "tls", false, "TLS for grpc and socket; rest has it by https://")
	set.StringVar(&h.authority, "cacert", "", "PEM `file` of the authority to trust; the system's without it")
	set.StringVar(&h.Output, "output", "", "write the histogram `file` (docs/histogram-file.md)")
	return set
}

// runByHand sends the same request over and over, and prints what came of it.
func runByHand(ctx context.Context, transport string, arguments []string, out io.Writer) error {
	h := &hand{Job: Job{Requests: request.Options{Transport: transport}, RequestsEach: 1}}
	others, err := parse(h.flags(), arguments)
	if err != nil {
		return err
	}
	load, err := h.makeLoad(ctx, others)
	if err != nil {
		return err
	}
	measured, err := measure(ctx, load, h.Output)
	if measured.Schema == "" {
		return err
	}
	if !printSummary(out, measured) && ctx.Err() == nil {
		err = cmp.Or(err, errors.New("no request succeeded"))
	}
	return err // Also if its file can't be written.
}

// printSummary writes what a person wants to know of a load, and reports whether a request was measured.
func printSummary(out io.Writer, measured histogram.File) (isMeasured bool) {
	for _, clock := range []string{"service", "response", "first_item", "gap"} {
		latencies := measured.Merged(clock)
		count := latencies.TotalCount()
		if count == 0 {
			continue
		}
		isMeasured = true
		seconds := float64(measured.Window.EndUnixNS-measured.Window.StartUnixNS) / 1e9
		fmt.Fprintf(out, "%s (ms): %d, %.1f/s; mean %.3f", clock, count, float64(count)/seconds, latencies.Mean()/1e6)
		for _, percent := range []float64{50, 90, 99, 99.9, 100} {
			fmt.Fprintf(out, "; p%g %.3f", percent, float64(latencies.ValueAtPercentile(percent))/1e6)
		}
		fmt.Fprintln(out)
	}
	if measured.Retried+measured.Reconnects > 0 {
		fmt.Fprintf(out, "sent again: %d; connections that were replaced: %d\n", measured.Retried, measured.Reconnects)
	}
	if measured.DroppedIterations > 0 {
		fmt.Fprintf(out, "the load fell short: %d requests were due and not sent, and are in no latency\n", measured.DroppedIterations)
	}
	for _, each := range measured.Errors {
		fmt.Fprintf(out, "failed: %s: %s (%d)\n", each.Code, each.Message, each.Count)
	}
	return isMeasured
}

// makeLoad returns a load of the request that the arguments describe: an address, a target, and maybe a body.
func (h *hand) makeLoad(ctx context.Context, arguments []string) (*engine.Load, error) {
	transport, err := h.Requests.Transport, error(nil)
	if transport == "rest" && len(arguments) > 0 {
		if arguments, err = h.splitURL(arguments); err != nil {
			return nil, err
		}
	}
	if len(arguments) < 2 || len(arguments) > 3 {
		return nil, newUsageError("%s wants %s, and maybe a body", transport,
			map[bool]string{true: "a URL", false: "an address and a method"}[transport == "rest"])
	}
	if _, _, err := net.SplitHostPort(arguments[0]); err != nil {
		return nil, newUsageError("%q is not an address like 127.0.0.1:9000", arguments[0])
	}
	if h.isTLS || h.authority != "" {
		h.TLS = &jobTLS{Authority: h.authority}
	}
	h.Addresses, h.WindowS, h.TimeoutS, h.WarmupS = arguments[:1], h.duration.Seconds(), h.timeout.Seconds(), h.warmup.Seconds()
	h.Requests.Work = request.Work{Sequence: []string{"by-hand"}}
	if err := h.prepare("by hand"); err != nil {
		return nil, errUsage{err}
	}
	headers := map[string]string{}
	for _, given := range h.headers {
		name, value, ok := strings.Cut(given, ":")
		if !ok { // The error doesn't show it: it may be a secret.
			return nil, newUsageError("a header must be 'Name: value'")
		}
		headers[name] = strings.TrimSpace(value)
	}
	text, err := json.Marshal(map[string]any{"operations": map[string]any{"by-hand": h.describe(arguments, headers)}})
	if err != nil {
		return nil, err
	}
	var descriptors []byte
	if transport == "grpc" {
		descriptors, err = (&schemaJob{Reflection: arguments[0], TLS: h.TLS, Calls: arguments[1:2], Metadata: headers}).reflect(ctx)
		if err != nil {
			return nil, err
		}
	}
	if h.application, err = request.Parse("by hand", text, "", descriptors); err != nil {
		return nil, errUsage{err}
	}
	return h.load()
}

// splitURL puts an address and a request in place of a URL.
func (h *hand) splitURL(arguments []string) ([]string, error) {
	parsed, err := url.Parse(arguments[0])
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.User != nil {
		return nil, newUsageError("not a URL like http://127.0.0.1:5000/path, without a user")
	}
	h.isTLS = parsed.Scheme == "https"
	if parsed.Port() == "" {
		parsed.Host += map[bool]string{false: ":80", true: ":443"}[h.isTLS]
	}
	if h.method == "" {
		h.method = map[bool]string{false: "GET", true: "POST"}[len(arguments) > 1]
	}
	return append([]string{parsed.Host, h.method + " " + parsed.RequestURI()}, arguments[1:]...), nil
}

// describe returns the operation as an application file has it.
func (h *hand) describe(arguments []string, headers map[string]string) map[string]any {
	transport := h.Requests.Transport
	names := map[string][3]string{
		"rest": {"request", "body", "headers"}, "grpc": {"call", "message", "metadata"}, "socket": {"method", "body", "headers"},
	}[transport]
	sent := map[string]any{names[0]: arguments[1]}
	if len(arguments) > 2 {
		sent[names[1]] = arguments[2]
		if body := []byte(arguments[2]); json.Valid(body) {
			sent[names[1]] = json.RawMessage(body)
		}
	}
	if len(headers) > 0 {
		sent[names[2]] = headers
	}
	if transport == "rest" {
		sent["expect"] = map[string]any{"status": h.status}
	}
	return map[string]any{transport: sent, "writes": transport != "rest"}
}
