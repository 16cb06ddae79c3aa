package cli

import (
	"fmt"
	"io"
	"strings"

	"wirebench.dev/wireload/histogram"
)

// printSummary writes what a person wants to know of a load.
func printSummary(out io.Writer, measured histogram.File) error {
	var text strings.Builder
	seconds := 0.0
	if measured.Window != nil {
		seconds = float64(measured.Window.EndUnixNS-measured.Window.StartUnixNS) / 1e9
	}
	for _, clock := range []string{"service", "response", "first_item", "gap"} {
		latencies, err := measured.Merged(clock)
		if err != nil {
			return err
		}
		count := latencies.TotalCount()
		if count == 0 || seconds == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s (ms): %d, %.1f/s; mean %.3f", clock, count, float64(count)/seconds, latencies.Mean()/1e6)
		for _, percent := range []float64{50, 90, 99, 99.9, 100} {
			fmt.Fprintf(&text, "; p%g %.3f", percent, float64(latencies.ValueAtPercentile(percent))/1e6)
		}
		fmt.Fprintln(&text)
	}
	if text.Len() == 0 {
		fmt.Fprintln(&text, "no request was measured")
	}
	if measured.DroppedIterations > 0 {
		fmt.Fprintf(&text, "the load fell short: %d requests were due and not sent, and are in no latency\n", measured.DroppedIterations)
	}
	for _, each := range measured.Errors {
		fmt.Fprintf(&text, "failed: %s: %s (%d)\n", each.Code, each.Message, each.Count)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
