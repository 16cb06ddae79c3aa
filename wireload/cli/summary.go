package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"wirebench.dev/wireload/histogram"
)

// progress is the line that says how a load goes, rewritten each second.
type progress struct {
	out    io.Writer
	window time.Duration
}

func (p progress) show(taken histogram.Snapshot) {
	line := fmt.Sprintf("%3ds of %s: %d/s", taken.Seconds, p.window, taken.Successful)
	if taken.Items != nil {
		line += fmt.Sprintf(", %d items/s", *taken.Items)
	}
	if taken.Latency != nil {
		line += fmt.Sprintf(", %s p50 %s p99 %s", taken.Latency.Clock, milliseconds(taken.Latency.P50NS), milliseconds(taken.Latency.P99NS))
	}
	if taken.Failed > 0 {
		line += fmt.Sprintf(", %d failed", taken.Failed)
	}
	fmt.Fprintf(p.out, "\r%-78s", line)
	if time.Duration(taken.Seconds+1)*time.Second > p.window {
		fmt.Fprintln(p.out)
	}
}

func milliseconds(ns int64) string { return fmt.Sprintf("%.3f ms", float64(ns)/1e6) }

var clocks = []struct{ name, meaning string }{
	{"service", "service time (from the send to the full reply)"},
	{"response", "response time (from the moment that the request was due)"},
	{"first_item", "time to a stream's first item"},
	{"gap", "time between two items of a stream"},
}

// printSummary writes what a person wants to know of a load.
func printSummary(out io.Writer, measured histogram.File) error {
	var text strings.Builder
	if measured.Window == nil || measured.Window.EndUnixNS == measured.Window.StartUnixNS {
		fmt.Fprintln(&text, "no request was measured")
	} else if err := summarize(&text, measured); err != nil {
		return err
	}
	if measured.DroppedIterations > 0 {
		fmt.Fprintf(&text, "the load fell short: %d requests were due and not sent, and are in no latency\n", measured.DroppedIterations)
	}
	if len(measured.Errors) > 0 {
		fmt.Fprintln(&text, "failures of the whole load, with the warm-up:")
	}
	for _, each := range measured.Errors {
		fmt.Fprintf(&text, "failed: %s: %s (%d)\n", each.Code, each.Message, each.Count)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// countFailed returns how many requests of the window failed.
func countFailed(measured histogram.File) int64 {
	failed := int64(0)
	for _, each := range measured.Series {
		if each.Clock == "service" && each.Code != histogram.OK {
			failed += each.Count
		}
	}
	return failed
}

func summarize(text *strings.Builder, measured histogram.File) error {
	seconds := float64(measured.Window.EndUnixNS-measured.Window.StartUnixNS) / 1e9
	for _, clock := range clocks {
		latencies, err := measured.Merged(clock.name)
		if err != nil {
			return err
		}
		count := latencies.TotalCount()
		if clock.name == "service" {
			fmt.Fprintf(text, "\n%d successful requests in %.2f s: %.1f/s; %d failed\n", count, seconds, float64(count)/seconds, countFailed(measured))
		}
		if count == 0 {
			continue
		}
		fmt.Fprintf(text, "\n%s\n", clock.meaning)
		for _, percent := range []float64{50, 90, 99, 99.9} {
			fmt.Fprintf(text, "  p%-5g %12s\n", percent, milliseconds(latencies.ValueAtPercentile(percent)))
		}
		fmt.Fprintf(text, "  %-6s %12s\n  %-6s %12s\n", "mean", milliseconds(int64(latencies.Mean())), "max", milliseconds(latencies.Max()))
	}
	fmt.Fprintf(text, "\nsent %d bytes, received %d bytes", measured.Bytes.Sent, measured.Bytes.Received)
	fmt.Fprintf(text, "; retried %d\n", measured.Retried)
	return nil
}
