package histogram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"wirebench.dev/k6/secure"
)

const (
	schema    = "wirebench.histograms/1"
	errorsMax = 10
)

// file is the histogram file; docs/histogram-file.md says what its fields mean.
type file struct {
	Schema            string          `json:"schema"`
	Driver            driver          `json:"driver"`
	Window            *fileWindow     `json:"window"`
	Series            []fileSeries    `json:"series"`
	PerSecond         []filePerSecond `json:"per_second"`
	Slices            []fileSlices    `json:"slices,omitempty"`
	Calls             []fileCalls     `json:"calls,omitempty"`
	RequestsTotal     map[code]int64  `json:"requests_total"`
	Mismatches        int64           `json:"mismatches"`
	DroppedIterations int64           `json:"dropped_iterations"`
	*fileBytes
	Streams  *fileStreams        `json:"streams,omitempty"`
	Errors   []fileError         `json:"errors"`
	Failures *fileWindow         `json:"failures,omitempty"`
	TLS      []secure.Agreements `json:"tls,omitempty"`
}

type driver struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type fileWindow struct {
	StartUnixNS int64 `json:"start_unix_ns"`
	EndUnixNS   int64 `json:"end_unix_ns"`
}

type fileSeries struct {
	Operation string `json:"operation"`
	Code      code   `json:"code"`
	Clock     string `json:"clock"`
	Count     int64  `json:"count"`
	Histogram string `json:"histogram"`
}

type filePerSecond struct {
	Operation string  `json:"operation"`
	Code      code    `json:"code"`
	Counts    []int64 `json:"counts"`
}

type fileSlices struct {
	Operation  string   `json:"operation"`
	Histograms []string `json:"histograms"`
}

type fileStreams struct {
	Items     int64   `json:"items_total"`
	PerSecond []int64 `json:"items_per_second"`
	Cancelled int64   `json:"cancelled"`
}

type fileCalls struct {
	Operation   string  `json:"operation"`
	Code        code    `json:"code"`
	LatenciesNS []int64 `json:"latencies_ns"`
}

type fileBytes struct {
	Sent     int64 `json:"bytes_sent"`
	Received int64 `json:"bytes_received"`
	Requests int64 `json:"bytes_requests"`
}

type fileError struct {
	Code    code   `json:"code"`
	Message string `json:"message"`
	Count   int64  `json:"count"`
}

// report returns what was folded of a load that ended at this moment.
func (f *fold) report(driverVersion string, ended time.Time) (file, error) {
	made := file{
		Schema:            schema,
		Driver:            driver{Name: "k6", Version: driverVersion},
		Series:            []fileSeries{},
		PerSecond:         []filePerSecond{},
		RequestsTotal:     map[code]int64{},
		Mismatches:        f.mismatches,
		DroppedIterations: f.dropped,
		Errors:            f.reportErrors(),
		Failures:          f.failures,
		TLS:               secure.Counted(),
	}
	seconds := 0
	if f.window != nil {
		closed := f.window.closedAt(ended.UnixNano())
		if f.config.calls > 0 && f.requests() >= int64(f.config.calls+f.config.warmupCalls) {
			closed = f.window.closedAt(f.lastEnd + 1)
		}
		made.Window = &fileWindow{closed.start, closed.end}
		seconds = closed.seconds()
	}
	requests := int64(0)
	for _, each := range f.sortedSeries() {
		requests += each.total
		made.RequestsTotal[each.code] += each.total
		if err := made.addSeries(each, seconds); err != nil {
			return file{}, err
		}
	}
	if f.stream != nil {
		if err := made.addStream(f.stream, seconds); err != nil {
			return file{}, err
		}
	}
	if f.bytesCounted {
		made.fileBytes = &fileBytes{int64(f.bytesSent), int64(f.bytesReceived), requests}
	}
	return made, nil
}

// requests returns how many requests ended, whatever their outcome.
func (f *fold) requests() int64 {
	count := int64(0)
	for _, each := range f.series {
		count += each.total
	}
	return count
}

func (f *fold) sortedSeries() []*series {
	return slices.SortedFunc(maps.Values(f.series), func(a, b *series) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.code, b.code))
	})
}

func (m *file) addSeries(taken *series, seconds int) error {
	if err := m.addClock(taken.operation, taken.code, "service", taken.service); err != nil {
		return err
	}
	if err := m.addClock(taken.operation, taken.code, "response", taken.response); err != nil {
		return err
	}
	if taken.perSecond != nil {
		counts := taken.perSecond[:min(seconds, len(taken.perSecond))]
		m.PerSecond = append(m.PerSecond, filePerSecond{taken.operation, taken.code, counts})
	}
	if taken.calls != nil {
		m.Calls = append(m.Calls, fileCalls{taken.operation, taken.code, taken.calls})
	}
	return m.addSlices(taken)
}

func (m *file) addSlices(taken *series) error {
	if taken.code != codeOK || len(taken.slices) == 0 {
		return nil
	}
	histograms := make([]string, len(taken.slices))
	for place, histogram := range taken.slices {
		if histogram == nil {
			continue
		}
		encoded, err := encode(histogram)
		if err != nil {
			return fmt.Errorf("encoding the slices of %s: %w", taken.operation, err)
		}
		histograms[place] = encoded
	}
	m.Slices = append(m.Slices, fileSlices{taken.operation, histograms})
	return nil
}

func encode(histogram *hdr.Histogram) (string, error) {
	encoded, err := histogram.Encode(hdr.V2CompressedEncodingCookieBase)
	return string(encoded), err
}

// addStream adds what is kept of items, under the code ok: those that come come well.
func (m *file) addStream(taken *stream, seconds int) error {
	if err := m.addClock(taken.operation, codeOK, "first_item", taken.firstItem); err != nil {
		return err
	}
	if err := m.addClock(taken.operation, codeOK, "gap", taken.gap); err != nil {
		return err
	}
	counts := append([]int64{}, taken.perSecond[:min(seconds, len(taken.perSecond))]...)
	m.Streams = &fileStreams{taken.items, counts, taken.cancelled}
	return nil
}

func (m *file) addClock(operation string, outcome code, clock string, histogram *hdr.Histogram) error {
	if histogram == nil {
		return nil
	}
	encoded, err := encode(histogram)
	if err != nil {
		return fmt.Errorf("encoding the histogram of %s: %w", operation, err)
	}
	m.Series = append(m.Series, fileSeries{operation, outcome, clock, histogram.TotalCount(), encoded})
	return nil
}

func (f *fold) reportErrors() []fileError {
	errors := make([]fileError, 0, len(f.reasons))
	for key, count := range f.reasons {
		errors = append(errors, fileError{key.code, key.text, count})
	}
	slices.SortFunc(errors, func(a, b fileError) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return errors[:min(len(errors), errorsMax)]
}

// writeTo writes the file through a temporary one beside it, which was opened before the load, so that
// a reader sees the whole file or none.
func (m file) writeTo(temporary *os.File, path string) error {
	encoder := json.NewEncoder(temporary)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
