package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.k6.io/k6/cmd"
	"wirebench.dev/wireload/secure"
)

// asK6 makes this test program be k6, with our modules and output: tests start themselves rather than
// a program that has to be built first.
const asK6 = "WIREBENCH_TEST_AS_K6"

func TestMain(m *testing.M) {
	if os.Getenv(asK6) != "" {
		cmd.Execute()
		return
	}
	os.Exit(m.Run())
}

// k6Run is one run of a script.
type k6Run struct {
	script string
	// Seconds of warm-up and window; k6 itself runs for a second at least.
	warmup, window string
	variables      map[string]string
	withoutOutput  bool
	// by is what a request is counted by: its end, unless it is said.
	by string
	// calls are the output's options for a number of calls.
	calls string
}

// command returns the k6 process and where it will put the histogram file. It skips the test where -short is given.
func (r k6Run) command(t testing.TB) (*exec.Cmd, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts k6")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cell.json")
	arguments := []string{
		"run", "--quiet", "--summary-mode=disabled", "--no-usage-report", "--no-thresholds", "--address=",
		"-e", "WARMUP_S=" + r.warmup, "-e", "DURATION_S=" + r.window,
	}
	if !r.withoutOutput {
		output := "wirebench=path=" + path + ",warmup=" + r.warmup + "s,window=" + r.window + "s,snapshot=" + snapshotOf(path)
		if r.by != "" {
			output += ",by=" + r.by
		}
		if r.calls != "" {
			output += "," + r.calls
		}
		arguments = append(arguments, "--out", output)
	}
	for name, value := range r.variables {
		arguments = append(arguments, "-e", name+"="+value)
	}
	started := exec.Command(program, append(arguments, r.script)...)
	started.Env = append(os.Environ(), asK6+"=1", "K6_AUTO_EXTENSION_RESOLUTION=false")
	return started, path
}

// snapshotOf says where a run writes its progress; wirebench asks every run to.
func snapshotOf(path string) string { return path + ".snapshot" }

// run returns the histogram file of a run that went well.
func (r k6Run) run(t testing.TB) cell {
	t.Helper()
	command, path := r.command(t)
	if output, err := command.CombinedOutput(); err != nil || len(output) > 0 {
		t.Fatalf("k6: %v\n%s", err, output)
	}
	return readCell(t, path)
}

// fails returns what a run prints that must fail.
func (r k6Run) fails(t testing.TB) string {
	t.Helper()
	command, _ := r.command(t)
	output, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("k6 went well\n%s", output)
	}
	return string(output)
}

// cell is a histogram file, as its readers see it.
type cell struct {
	Window struct {
		Start int64 `json:"start_unix_ns"`
		End   int64 `json:"end_unix_ns"`
	} `json:"window"`
	Series []struct {
		Operation, Code, Clock, Histogram string
		Count                             int64
	} `json:"series"`
	RequestsTotal map[string]int64 `json:"requests_total"`
	Mismatches    int64            `json:"mismatches"`
	Dropped       int64            `json:"dropped_iterations"`
	BytesSent     int64            `json:"bytes_sent"`
	BytesReceived int64            `json:"bytes_received"`
	BytesRequests int64            `json:"bytes_requests"`
	Streams       *struct {
		Items     int64   `json:"items_total"`
		PerSecond []int64 `json:"items_per_second"`
		Cancelled int64
	} `json:"streams"`
	TLS    []secure.Agreements `json:"tls"`
	Errors []struct {
		Code, Message string
		Count         int64
	} `json:"errors"`
}

func readCell(t testing.TB, path string) cell {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var read cell
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func (c cell) clock(t testing.TB, code, clock string) *hdr.Histogram {
	t.Helper()
	for _, series := range c.Series {
		if series.Code == code && series.Clock == clock {
			histogram, err := hdr.Decode([]byte(series.Histogram))
			if err != nil {
				t.Fatal(err)
			}
			return histogram
		}
	}
	t.Fatalf("no series %s %s; requests %v, errors %v", code, clock, c.RequestsTotal, c.Errors)
	return nil
}

// items is how many items streams had.
func (c cell) items(t testing.TB) int64 {
	t.Helper()
	if c.Streams == nil {
		t.Fatalf("want streams; requests %v, errors %v", c.RequestsTotal, c.Errors)
	}
	return c.Streams.Items
}

// expectOnly fails unless the requests, of which there is at least one, all have this code.
func (c cell) expectOnly(t testing.TB, code string) int64 {
	t.Helper()
	total := c.RequestsTotal[code]
	if total == 0 || len(c.RequestsTotal) != 1 {
		t.Fatalf("want only %s, got %v, errors %v", code, c.RequestsTotal, c.Errors)
	}
	return total
}

func (c cell) errorText() string {
	texts := make([]string, 0, len(c.Errors))
	for _, each := range c.Errors {
		texts = append(texts, each.Message)
	}
	return strings.Join(texts, "; ")
}
