package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"
	"go.k6.io/k6/output"
	"wirebench.dev/k6/histogram"
	"wirebench.dev/k6/ledgertest"
)

// The benchmarks of the instrument itself. They take a while and want a quiet machine, so that they run
// only on demand:
//
//	go test -run '^$' -bench . -benchtime 1x .

// BenchmarkOutputCost compares how many requests k6 sends with our output and without any, against a
// server in this process, in pairs that alternate so that a slow moment of the machine hits both.
// The ratios are medians of the pairs: of the requests sent, which must not fall below 0.95, and of the
// processor time that k6 takes for one, which a machine that is busy with other things spoils less.
func BenchmarkOutputCost(b *testing.B) {
	const pairs, ratioMin = 7, 0.95
	service := plain()
	startREST(b, service)
	for b.Loop() {
		loadFor2s(b, service, true) // The first one pays for cold caches.
		var sent, cpu []float64
		for pair := range pairs {
			// Who goes first alternates as well.
			withFirst := pair%2 == 0
			first := loadFor2s(b, service, !withFirst)
			second := loadFor2s(b, service, withFirst)
			if !withFirst {
				first, second = second, first
			}
			sent = append(sent, first.requests/second.requests)
			cpu = append(cpu, second.cpuUS()/first.cpuUS())
		}
		slices.Sort(sent)
		slices.Sort(cpu)
		median := sent[pairs/2]
		b.ReportMetric(median, "ratio")
		b.ReportMetric(sent[0], "ratio-min")
		b.ReportMetric(sent[pairs-1], "ratio-max")
		b.ReportMetric(cpu[pairs/2], "cpu-ratio")
		if median < ratioMin {
			b.Errorf("k6 with our output sends %.3f of what it sends without (by processor time: %.3f); at least %.2f is wanted",
				median, cpu[pairs/2], ratioMin)
		}
	}
}

// sent is what a run of k6 did and what it took.
type sent struct {
	requests float64
	cpu      time.Duration
}

func (s sent) cpuUS() float64 { return float64(s.cpu.Microseconds()) / s.requests }

func loadFor2s(b *testing.B, service *service, withoutOutput bool) sent {
	b.Helper()
	service.requests.Store(0)
	command, _ := k6Run{
		script: "../rest.js", warmup: "0", window: "2", withoutOutput: withoutOutput,
		variables: map[string]string{"ADDRESS": service.address, "CONCURRENCY": "16"},
	}.command(b)
	if text, err := command.CombinedOutput(); err != nil {
		b.Fatalf("k6: %v\n%s", err, text)
	}
	state := command.ProcessState
	return sent{float64(service.requests.Load()), state.UserTime() + state.SystemTime()}
}

// BenchmarkStreamCeiling reads streams as fast as a server in this process sends them, and gives the items
// that k6 reads in a second of its processor's time: more than one core of it can't read. On the socket
// they must be 200,000 at least.
func BenchmarkStreamCeiling(b *testing.B) {
	const socketItemsMin = 200_000
	for _, transport := range ledgertest.Transports {
		b.Run(transport, func(b *testing.B) {
			server := ledgertest.Start(b, transport, ledgertest.Behaviour{})
			for b.Loop() {
				command, path := k6Run{
					script: "../stream.js", warmup: "0.5", window: "2",
					variables: map[string]string{
						"TRANSPORT": transport, "ADDRESS": server.Address, "CONCURRENCY": "4", "STREAM_ITEMS": "1000",
					},
				}.command(b)
				command.Env = append(command.Env, "GOMAXPROCS=1")
				if text, err := command.CombinedOutput(); err != nil {
					b.Fatalf("k6: %v\n%s", err, text)
				}
				state := command.ProcessState
				perSecond := float64(readCell(b, path).items(b)) / (state.UserTime() + state.SystemTime()).Seconds()
				b.ReportMetric(perSecond, "items/cpu-s")
				if transport == "socket" && perSecond < socketItemsMin {
					b.Errorf("k6 reads %.0f items in a second of a processor; at least %d are wanted", perSecond, socketItemsMin)
				}
			}
		})
	}
}

// BenchmarkOutputMemory folds ten million requests and fails if the process took more than 64 MiB from
// the system on top of what it had.
func BenchmarkOutputMemory(b *testing.B) {
	const requests, batchRequests, mibMax = 10_000_000, 1000, 64
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "cell.json")
		out, err := histogram.New(output.Params{ConfigArgument: "warmup=1s,window=1h,path=" + path + ",snapshot=" + snapshotOf(path)})
		if err != nil {
			b.Fatal(err)
		}
		if err := out.Start(); err != nil {
			b.Fatal(err)
		}
		samples := newSyntheticSamples()
		before := systemBytes()
		start := time.Now()
		for range requests / batchRequests {
			out.AddMetricSamples(samples.batch(batchRequests))
		}
		took := time.Since(start)
		above := float64(systemBytes()-before) / (1 << 20)
		if err := out.Stop(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(above, "MiB-above-start")
		b.ReportMetric(float64(took.Nanoseconds())/requests, "ns/request")
		b.ReportMetric(float64(info.Size())/1024, "file-KiB")
		if above > mibMax {
			b.Errorf("took %.1f MiB, at most %d are wanted", above, mibMax)
		}
		if got := readCell(b, path).RequestsTotal["ok"]; got < requests*9/10 {
			b.Errorf("only %d of the requests arrived", got)
		}
	}
}

// systemBytes is what Go has taken from the system so far; it never falls.
func systemBytes() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.Sys)
}

// syntheticSamples makes what k6 sends for an iteration: a trail, and samples that mean nothing to us.
type syntheticSamples struct {
	builtin   *metrics.BuiltinMetrics
	ok, other *metrics.TagSet
	now       time.Time
	random    uint64
}

func newSyntheticSamples() *syntheticSamples {
	registry := metrics.NewRegistry()
	root := registry.RootTagSet().With("name", "users.get")
	return &syntheticSamples{
		builtin: metrics.RegisterBuiltinMetrics(registry),
		ok:      root.With("status", "200"),
		other:   root.With("status", "404"),
		now:     time.Now(),
		random:  1,
	}
}

func (s *syntheticSamples) batch(requests int) []metrics.SampleContainer {
	made := make([]metrics.SampleContainer, 0, 2*requests)
	for range requests {
		s.random = s.random*6364136223846793005 + 1442695040888963407
		s.now = s.now.Add(50 * time.Microsecond)
		trail := &httpext.Trail{EndTime: s.now, Duration: time.Duration(s.random>>40) * 10 * time.Nanosecond}
		tags := &metrics.TagsAndMeta{Tags: s.ok}
		if s.random>>60 == 0 {
			tags.Tags = s.other
		}
		trail.SaveSamples(s.builtin, tags)
		sample := metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: s.builtin.IterationDuration, Tags: s.ok}, Time: s.now, Value: 1,
		}
		made = append(made, trail, metrics.Samples{sample})
	}
	return made
}
