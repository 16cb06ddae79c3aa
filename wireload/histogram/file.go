package histogram

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"wirebench.dev/wireload/secure"
)

const (
	schema    = "wirebench.histograms/1"
	errorsMax = 10
)

// File is the histogram file; docs/histogram-file.md says what its fields mean.
type File struct {
	Schema            string          `json:"schema"`
	Driver            Driver          `json:"driver"`
	Window            *Window         `json:"window"`
	Series            []FileSeries    `json:"series"`
	PerSecond         []FilePerSecond `json:"per_second"`
	Slices            []FileSlices    `json:"slices,omitempty"`
	Calls             []FileCalls     `json:"calls,omitempty"`
	RequestsTotal     map[Code]int64  `json:"requests_total"`
	Mismatches        int64           `json:"mismatches"`
	DroppedIterations int64           `json:"dropped_iterations"`
	Retried           int64           `json:"retried,omitempty"`
	Bytes
	Streams      *FileStreams        `json:"streams,omitempty"`
	Errors       []FileError         `json:"errors"`
	ErrorClasses map[string]int64    `json:"error_classes,omitempty"`
	TLS          []secure.Agreements `json:"tls,omitempty"`
}

// Driver is the tool that made the load.
type Driver struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Window is a part of a load: start <= t < end.
type Window struct {
	StartUnixNS int64 `json:"start_unix_ns"`
	EndUnixNS   int64 `json:"end_unix_ns"`
}

// FileSeries is the histogram of one operation, outcome and clock.
type FileSeries struct {
	Operation string `json:"operation"`
	Code      Code   `json:"code"`
	Clock     string `json:"clock"`
	Count     int64  `json:"count"`
	Histogram string `json:"histogram"`
}

// FilePerSecond counts the requests of each second of the window.
type FilePerSecond struct {
	Operation string  `json:"operation"`
	Code      Code    `json:"code"`
	Counts    []int64 `json:"counts"`
}

// FileSlices has a histogram for each slice of the window.
type FileSlices struct {
	Operation  string   `json:"operation"`
	Histograms []string `json:"histograms"`
}

// FileStreams counts items.
type FileStreams struct {
	Items     int64   `json:"items_total"`
	PerSecond []int64 `json:"items_per_second"`
	Cancelled int64   `json:"cancelled"`
}

// FileCalls has the service time of each request.
type FileCalls struct {
	Operation   string  `json:"operation"`
	Code        Code    `json:"code"`
	LatenciesNS []int64 `json:"latencies_ns"`
}

// Bytes counts the payload of TCP.
type Bytes struct {
	Sent     int64 `json:"bytes_sent"`
	Received int64 `json:"bytes_received"`
	Requests int64 `json:"bytes_requests"`
}

// FileError counts the requests that failed with the same words.
type FileError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Count   int64  `json:"count"`
}

// Counts are what a driver counts beside requests.
type Counts struct {
	Mismatches, DroppedIterations, Retried int64
	// Classes are failures by class; see docs/histogram-file.md.
	Classes map[string]int64
	Bytes   Bytes
}

// Report returns what was folded of a load that ended at this moment.
func (f *Fold) Report(driver Driver, ended time.Time, counts Counts) (File, error) {
	made := File{
		Schema:            schema,
		Driver:            driver,
		Series:            []FileSeries{},
		PerSecond:         []FilePerSecond{},
		RequestsTotal:     map[Code]int64{},
		Mismatches:        counts.Mismatches,
		DroppedIterations: counts.DroppedIterations,
		Retried:           counts.Retried,
		Bytes:             counts.Bytes,
		Errors:            f.reportErrors(),
		ErrorClasses:      counts.Classes,
		TLS:               secure.Counted(),
	}
	seconds := 0
	if f.window != nil {
		closed := f.window.closedAt(ended.UnixNano())
		if f.options.Calls > 0 && f.requests() >= int64(f.options.Calls+f.options.WarmupCalls) {
			closed = f.window.closedAt(f.lastEnd + 1)
		}
		made.Window = &Window{closed.start, closed.end}
		seconds = closed.seconds()
	}
	requests := int64(0)
	for _, each := range f.sortedSeries() {
		requests += each.total
		made.RequestsTotal[each.code] += each.total
		if err := made.addSeries(each, seconds); err != nil {
			return File{}, err
		}
	}
	made.Bytes.Requests = requests
	if f.stream != nil {
		if err := made.addStream(f.stream, seconds); err != nil {
			return File{}, err
		}
	}
	return made, nil
}

func (f *Fold) sortedSeries() []*Series {
	return slices.SortedFunc(maps.Values(f.series), func(a, b *Series) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.code, b.code))
	})
}

func (m *File) addSeries(taken *Series, seconds int) error {
	if taken.perSecond != nil {
		counts := taken.perSecond[:min(seconds, len(taken.perSecond))]
		m.PerSecond = append(m.PerSecond, FilePerSecond{taken.operation, taken.code, counts})
	}
	if taken.calls != nil {
		m.Calls = append(m.Calls, FileCalls{taken.operation, taken.code, taken.calls})
	}
	if taken.code == OK && len(taken.slices) > 0 {
		made := FileSlices{taken.operation, make([]string, len(taken.slices))}
		for place, histogram := range taken.slices {
			var err error
			if made.Histograms[place], err = encode(histogram); err != nil {
				return err
			}
		}
		m.Slices = append(m.Slices, made)
	}
	return errors.Join(
		m.addClock(taken.operation, taken.code, "service", taken.service),
		m.addClock(taken.operation, taken.code, "response", taken.response),
	)
}

// addStream adds what is kept of items, under the Code ok: those that come come well.
func (m *File) addStream(taken *stream, seconds int) error {
	counts := append([]int64{}, taken.perSecond[:min(seconds, len(taken.perSecond))]...)
	m.Streams = &FileStreams{taken.items, counts, taken.cancelled}
	return errors.Join(
		m.addClock(taken.operation, OK, "first_item", taken.firstItem),
		m.addClock(taken.operation, OK, "gap", taken.gap),
	)
}

func (m *File) addClock(operation string, outcome Code, clock string, histogram *hdr.Histogram) error {
	if histogram == nil {
		return nil
	}
	encoded, err := encode(histogram)
	m.Series = append(m.Series, FileSeries{operation, outcome, clock, histogram.TotalCount(), encoded})
	return err
}

// encode returns the text of a histogram; that of none is empty.
func encode(histogram *hdr.Histogram) (string, error) {
	if histogram == nil {
		return "", nil
	}
	encoded, err := histogram.Encode(hdr.V2CompressedEncodingCookieBase)
	return string(encoded), err
}

func (f *Fold) reportErrors() []FileError {
	made := make([]FileError, 0, len(f.reasons))
	for key, count := range f.reasons {
		made = append(made, FileError{key.code, key.text, count})
	}
	slices.SortFunc(made, func(a, b FileError) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return made[:min(len(made), errorsMax)]
}

// Create opens the temporary file beside `path` that Write takes: it is better to learn before the load than after
// it that there is nowhere to put its result. What a rename would replace by a file, such as /dev/null, is rejected.
func Create(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	temporary, err := os.Create(path + ".tmp")
	if err != nil {
		return nil, fmt.Errorf("can't write the histogram file: %w", err)
	}
	return temporary, nil
}

// Write writes the file through the one that Create has opened, so that a reader sees the whole file or none.
func (m File) Write(temporary *os.File, path string) error {
	encoder := json.NewEncoder(temporary)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := cmp.Or(encoder.Encode(m), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("can't write the histogram file: %w", err)
	}
	return nil
}

// Merged returns the latencies of a clock's successful requests, of all operations together.
func (m File) Merged(clock string) (*hdr.Histogram, error) {
	merged := hdr.New(lowestDiscernibleNS, highestTrackableNS, significantDigits)
	for _, each := range m.Series {
		if each.Clock != clock || each.Code != OK {
			continue
		}
		decoded, err := hdr.Decode([]byte(each.Histogram))
		if err != nil {
			return nil, err
		}
		merged.Merge(decoded)
	}
	return merged, nil
}
