package histogram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
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
	Calls             []FileCalls     `json:"calls,omitempty"`
	RequestsTotal     map[Code]int64  `json:"requests_total"`
	Mismatches        int64           `json:"mismatches"`
	DroppedIterations int64           `json:"dropped_iterations"`
	Retried           int64           `json:"retried,omitempty"`
	Reconnects        int64           `json:"reconnects,omitempty"`
	// Bytes are the payload of TCP.
	BytesSent     int64            `json:"bytes_sent"`
	BytesReceived int64            `json:"bytes_received"`
	BytesRequests int64            `json:"bytes_requests"`
	Streams       *FileStreams     `json:"streams,omitempty"`
	Errors        []FileError      `json:"errors"`
	ErrorClasses  map[string]int64 `json:"error_classes,omitempty"`
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

// Key groups requests.
type Key struct {
	Operation string `json:"operation"`
	Code      Code   `json:"code"`
}

// FileSeries is the histogram of one clock.
type FileSeries struct {
	Key
	Clock     string    `json:"clock"`
	Count     int64     `json:"count"`
	Latencies Latencies `json:"histogram"`
}

// FilePerSecond counts the requests of each second of the window.
type FilePerSecond struct {
	Key
	Counts []int64 `json:"counts"`
}

// FileStreams counts items.
type FileStreams struct {
	Items     int64   `json:"items_total"`
	PerSecond []int64 `json:"items_per_second"`
	Cancelled int64   `json:"cancelled"`
}

// FileCalls has the service time of each request.
type FileCalls struct {
	Key
	LatenciesNS []int64 `json:"latencies_ns"`
}

// FileError counts the requests that failed with the same words.
type FileError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Count   int64  `json:"count"`
}

// Latencies is a histogram of nanoseconds.
type Latencies struct{ *hdr.Histogram }

// MarshalText returns HdrHistogram's V2 compressed encoding in base64.
func (l Latencies) MarshalText() ([]byte, error) {
	return l.Encode(hdr.V2CompressedEncodingCookieBase)
}

// Report returns what was folded of a load that ended at this moment.
func (f *Fold) Report(driver Driver, endedUnixNS int64) File {
	made := &f.File
	made.Schema, made.Driver = schema, driver
	made.Series, made.PerSecond, made.RequestsTotal = []FileSeries{}, []FilePerSecond{}, map[Code]int64{}
	seconds := int64(0)
	if f.start != 0 {
		// A load that was interrupted ends inside the window. Rates over a window that nothing happened in would be wrong.
		if f.options.Calls > 0 {
			endedUnixNS = f.lastEnd + 1
		}
		made.Window = &Window{f.start, max(f.start, min(f.end, endedUnixNS))}
		seconds = countSeconds(made.Window.EndUnixNS - f.start)
	}
	keys := slices.SortedFunc(maps.Keys(f.series), func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Code, b.Code))
	})
	for _, key := range keys {
		taken := f.series[key]
		made.RequestsTotal[key.Code] += taken.total
		made.BytesRequests += taken.total
		if taken.perSecond != nil {
			made.PerSecond = append(made.PerSecond, FilePerSecond{key, taken.perSecond[:seconds]})
		}
		if taken.calls != nil {
			made.Calls = append(made.Calls, FileCalls{key, taken.calls})
		}
		made.addClock(key, "service", taken.service)
		made.addClock(key, "response", taken.response)
	}
	if made.Streams != nil { // Items that come come well: they have the code OK.
		made.Streams.PerSecond = made.Streams.PerSecond[:min(int(seconds), len(made.Streams.PerSecond))]
		made.addClock(Key{f.streamed, OK}, "first_item", f.firstItem)
		made.addClock(Key{f.streamed, OK}, "gap", f.gap)
	}
	made.Errors = f.reportErrors()
	return *made
}

func (m *File) addClock(key Key, clock string, histogram *hdr.Histogram) {
	if histogram != nil {
		m.Series = append(m.Series, FileSeries{key, clock, histogram.TotalCount(), Latencies{histogram}})
	}
}

func (f *Fold) reportErrors() []FileError {
	made := make([]FileError, 0, len(f.reasons))
	for each, count := range f.reasons {
		each.Count = count
		made = append(made, each)
	}
	slices.SortFunc(made, func(a, b FileError) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return made[:min(len(made), errorsMax)]
}

// Write writes the file under a temporary name first, so that a reader sees the whole file or none. What a rename would
// replace by a file, such as /dev/null, is rejected.
func (m File) Write(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	temporary := path + ".tmp"
	text, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.WriteFile(temporary, text, 0o666)
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	return err
}

// Merged returns the latencies of a clock's successful requests, of all operations together.
func (m File) Merged(clock string) *hdr.Histogram {
	merged := hdr.New(lowestDiscernibleNS, highestTrackableNS, significantDigits)
	for _, each := range m.Series {
		if each.Clock == clock && each.Code == OK {
			merged.Merge(each.Latencies.Histogram)
		}
	}
	return merged
}
