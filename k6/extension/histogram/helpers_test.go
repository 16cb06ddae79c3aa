package histogram

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"
	"go.k6.io/k6/output"
	"wirebench.dev/k6/sample"
	"wirebench.dev/wireload/histogram"
)

// start is when the first request of every test is sent.
var start = time.Unix(1_700_000_000, 0)

// maker makes samples as k6 and our modules do.
type maker struct {
	registry *metrics.Registry
	metrics  map[string]*metrics.Metric
}

func newMaker() *maker {
	registry := metrics.NewRegistry()
	made := &maker{registry: registry, metrics: map[string]*metrics.Metric{}}
	metrics.RegisterBuiltinMetrics(registry)
	for name, kind := range map[string]metrics.MetricType{
		sample.SocketDurationMetric: metrics.Trend, sample.FailedDurationMetric: metrics.Trend,
		sample.ReasonsMetric: metrics.Counter, sample.MismatchesMetric: metrics.Counter,
		sample.StreamDurationMetric: metrics.Trend, sample.StreamItemsMetric: metrics.Counter,
		sample.CancelledStreamsMetric: metrics.Counter,
	} {
		registry.MustNewMetric(name, kind)
	}
	for _, metric := range registry.All() {
		made.metrics[metric.Name] = metric
	}
	return made
}

func (m *maker) tags(pairs ...string) *metrics.TagSet {
	tags := m.registry.RootTagSet()
	for i := 0; i < len(pairs); i += 2 {
		tags = tags.With(pairs[i], pairs[i+1])
	}
	return tags
}

// http is a request that ended `after` the start.
func (m *maker) http(after, took time.Duration, tags ...string) *httpext.Trail {
	return &httpext.Trail{EndTime: start.Add(after), Duration: took, Tags: m.tags(tags...)}
}

func (m *maker) ok(after, took time.Duration) *httpext.Trail {
	return m.http(after, took, "name", "users.get", "status", "200")
}

func (m *maker) value(metric string, after time.Duration, value float64, tags ...string) metrics.Sample {
	return metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: m.metrics[metric], Tags: m.tags(tags...)},
		Time:       start.Add(after),
		Value:      value,
	}
}

func due(after time.Duration) map[string]string {
	return map[string]string{sample.DueMetadata: strconv.FormatInt(start.Add(after).UnixNano(), 10)}
}

// file is a histogram file that was written.
type file struct{ histogram.File }

// folded is the file that an output with this configuration writes of these batches.
func folded(t *testing.T, configuration string, batches ...[]metrics.SampleContainer) file {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cell.json")
	made, err := New(output.Params{ConfigArgument: "path=" + path + "," + configuration})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Start(); err != nil {
		t.Fatal(err)
	}
	for _, batch := range batches {
		made.AddMetricSamples(batch)
	}
	if err := made.Stop(); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

func read(t *testing.T, path string) file {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := file{histogram.File{Bytes: &histogram.Bytes{}}}
	if err := json.Unmarshal(text, &read.File); err != nil {
		t.Fatal(err)
	}
	return read
}

func (m file) find(t *testing.T, operation string, outcome histogram.Code, clock string) *hdr.Histogram {
	t.Helper()
	for _, series := range m.Series {
		if series.Operation != operation || series.Code != outcome || series.Clock != clock {
			continue
		}
		decoded, err := hdr.Decode([]byte(series.Histogram))
		if err != nil {
			t.Fatal(err)
		}
		if decoded.TotalCount() != series.Count {
			t.Errorf("count says %d, the histogram holds %d", series.Count, decoded.TotalCount())
		}
		return decoded
	}
	t.Fatalf("no series %s %s %s in %v", operation, outcome, clock, m.Series)
	return nil
}

// near reports whether a histogram's value is this one, within its three digits.
func near(got int64, want time.Duration) bool {
	return max(got-int64(want), int64(want)-got) <= int64(want)/1000
}
