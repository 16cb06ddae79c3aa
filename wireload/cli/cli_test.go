package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wirebench.dev/wireload/histogram"
)

// service answers users.get of the built-in application, and counts its requests.
func service(t *testing.T) (address string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"success": true, "message": "", "data": {"id": `+id+`, "name": "x"}}`)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), requests
}

// serveHTTP2 runs a server of HTTP/1.1 and of HTTP/2 in clear text.
func serveHTTP2(t *testing.T, handle http.HandlerFunc) (address string) {
	t.Helper()
	server := httptest.NewUnstartedServer(handle)
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func run(t *testing.T, arguments ...string) (exit int, out, log string) {
	t.Helper()
	var written, logged bytes.Buffer
	exit = Main(t.Context(), arguments, &written, &logged)
	return exit, written.String(), logged.String()
}

func read(t *testing.T, path string) histogram.File {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		histogram.File
		// Histograms are only written.
		Series any `json:"series"`
		Slices any `json:"slices"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.File
}

func TestALoadByHandPrintsPercentilesAndWritesTheFile(t *testing.T) {
	address, requests := service(t)
	output := filepath.Join(t.TempDir(), "out.json")
	exit, out, log := run(t, "rest", "http://"+address+"/api/users/7", "-c", "2", "-d", "200ms", "--warmup", "0s", "--output", output)
	if exit != 0 || !strings.Contains(out, "service (ms): ") || !strings.Contains(out, "; p99.9 ") {
		t.Errorf("exit %d, %s, %s", exit, out, log)
	}
	file := read(t, output)
	if got := file.RequestsTotal[histogram.OK]; got == 0 || requests.Load() < got || file.Driver.Name != "wireload" {
		t.Errorf("got %v, and the service saw %d", file.RequestsTotal, requests.Load())
	}
}

func TestALoadThatFallsShortSaysSo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	exit, out, log := run(t, "rest", server.URL, "-c", "1", "--rate", "100", "-d", "50ms", "--warmup", "0s", "--timeout", "200ms")
	for _, want := range []string{"the load fell short: ", "\nfailed: "} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q, got %s", want, out)
		}
	}
	if exit != exitFailed || !strings.Contains(log, "wireload: no request succeeded") {
		t.Errorf("got exit %d, %s", exit, log)
	}
}

func TestAnInterruptedLoadWritesWhatWasMeasured(t *testing.T) {
	const answered = 10
	ctx, interrupt := context.WithCancel(t.Context())
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > answered {
			interrupt()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	output := filepath.Join(t.TempDir(), "out.json")
	job := usersJob(strings.TrimPrefix(server.URL, "http://"), output)
	job["concurrency"], job["calls"], job["warmup_calls"] = 1, 0, 0
	var out, log bytes.Buffer
	exit := Main(ctx, []string{"run", writeJob(t, job)}, &out, &log)
	file := read(t, output)
	if exit != exitInterrupted || file.RequestsTotal[histogram.OK] != answered || len(file.RequestsTotal) != 1 {
		t.Fatalf("exit %d, %v, %s, %s", exit, file.RequestsTotal, &out, &log)
	}
	if measured := time.Duration(file.Window.EndUnixNS - file.Window.StartUnixNS); measured >= time.Minute {
		t.Errorf("want the part of the window that was measured, got %s", measured)
	}
}

func writeJob(t *testing.T, job map[string]any) string {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "job.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func usersJob(address, output string) map[string]any {
	return map[string]any{
		"addresses": []string{address}, "output": output,
		"application": "../../applications/users.yaml", "descriptors": "../../proto/contract.binpb",
		"requests":    map[string]any{"transport": "rest", "work": map[string]any{"sequence": []string{"users.get"}}},
		"concurrency": 4, "calls": 25, "warmup_calls": 5, "check_every": 1, "warmup_s": 0, "window_s": 60,
	}
}

func TestAJobSendsTheApplicationsRequestsAndChecksReplies(t *testing.T) {
	address, requests := service(t)
	output := filepath.Join(t.TempDir(), "out.json")
	exit, _, log := run(t, "run", writeJob(t, usersJob(address, output)))
	file := read(t, output)
	if exit != 0 || file.RequestsTotal[histogram.OK] != 120 || requests.Load() != 120 || file.Mismatches != 0 {
		t.Errorf("exit %d, %v, %d wrong, %s", exit, file.RequestsTotal, file.Mismatches, log)
	}
	if len(file.Calls) != 1 || len(file.Calls[0].LatenciesNS) != 100 {
		t.Errorf("want the time of each call after the warm-up, got %v", file.Calls)
	}
}

func TestRepliesWithWrongContentAreCountedAndOneIsNamed(t *testing.T) {
	address, _ := service(t)
	output := filepath.Join(t.TempDir(), "out.json")
	job := usersJob(address, output)
	job["requests"] = map[string]any{"transport": "rest", "work": map[string]any{"sequence": []string{"users.create"}}}
	exit, _, log := run(t, "run", writeJob(t, job))
	if file := read(t, output); exit != 0 || file.Mismatches != 120 || strings.Count(log, "wrong content: users.create: ") != 1 {
		t.Errorf("exit %d, %d wrong, %q", exit, file.Mismatches, log)
	}
}

func TestALoadGoesOnWithoutPrometheus(t *testing.T) {
	address, requests := service(t)
	job := usersJob(address, filepath.Join(t.TempDir(), "out.json"))
	job["live"] = map[string]any{"url": "http://127.0.0.1:1", "labels": map[string]string{"pod": "load-0"}}
	exit, _, log := run(t, "run", writeJob(t, job))
	if exit != 0 || requests.Load() != 120 || !strings.HasPrefix(log, "live metrics: ") || strings.Count(log, "\n") != 1 {
		t.Errorf("exit %d, %d requests, %q", exit, requests.Load(), log)
	}
}

func TestWrongUsageIsOneLine(t *testing.T) {
	wrong := func(key string, value any) []string {
		job := usersJob("127.0.0.1:1", filepath.Join(t.TempDir(), "out.json"))
		job[key] = value
		return []string{"run", writeJob(t, job)}
	}
	for want, arguments := range map[string][]string{
		"name a command":          {},
		"no command \"rst\"":      {"rst"},
		"rest wants a URL":        {"rest"},
		"grpc wants an address":   {"grpc", "127.0.0.1:80"},
		"not defined: -x":         {"rest", "http://a", "-x"},
		`value "5" for flag -d`:   {"rest", "http://a", "-d", "5"},
		"without a user":          {"rest", "http://me:secret@a"},
		"most 100000; see":        wrong("concurrency_max", 100_001),
		"window and timeout must": {"rest", "http://a", "-d", "0s"},
		"h2c is for rest":         {"rest", "https://a", "--h2c"},
		"not an address like":     {"grpc", "127.0.0.1", "b/c"},
		"over grpc and h2c":       wrong("connections", 1),
		"from 1 to the 16 user":   {"rest", "http://a", "--h2c", "--connections", "17"},
		"one job file":            {"run"},
		"unknown field \"foo\"":   wrong("foo", 1),
		"addresses are missing":   wrong("addresses", []string{}),
		"output is missing":       wrong("output", ""),
		"concurrency must":        wrong("concurrency", 0),
		"exclude each other":      wrong("rate_per_s", 5),
		"calls of all users":      wrong("calls", 1_000_000),
		"use warmup_calls; see":   wrong("warmup_s", 0.5),
		`socket, not "smtp"`: wrong("requests", map[string]any{
			"transport": "smtp", "work": map[string]any{"sequence": []string{"users.get"}},
		}),
	} {
		exit, _, log := run(t, arguments...)
		if exit != exitUsage || !strings.Contains(log, want) || strings.Count(log, "\n") != 1 {
			t.Errorf("%v: want %q, got exit %d, %q", arguments, want, exit, log)
		}
	}
}

func TestFilesThatAreMissingFailTheLoad(t *testing.T) {
	for _, arguments := range [][]string{
		{"run", "none.json"},
		{"rest", "https://127.0.0.1:1", "--cacert", "none.pem"},
		{"rest", "http://127.0.0.1:1", "-d", "50ms", "--warmup", "0s", "--output", "none/out.json"},
	} {
		if exit, _, log := run(t, arguments...); exit != exitFailed || !strings.Contains(log, "none") {
			t.Errorf("%v: got exit %d, %q", arguments, exit, log)
		}
	}
}

func TestHelpNamesEveryOption(t *testing.T) {
	exit, out, _ := run(t, "--help")
	if exit != 0 || !strings.Contains(out, "-cacert file\n") || !strings.Contains(out, "-d time\n") || !strings.Contains(out, "wireload render JOB.json") {
		t.Errorf("exit %d: %s", exit, out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 81 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}
