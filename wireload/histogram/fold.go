// Package histogram folds the requests of a load into counts and HdrHistograms, and writes them as the file
// that docs/histogram-file.md describes.
package histogram

import (
	"cmp"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The histograms' shape, the same for all drivers so that any two of them merge exactly.
const (
	lowestDiscernibleNS = 1
	highestTrackableNS  = 60_000_000_000
	significantDigits   = 3
)

const (
	// CallsMax bounds the file: each call takes some ten characters of it.
	CallsMax = 100_000
	// reasonsMax bounds the error texts that are kept: they may hold ids.
	reasonsMax = 1000
)

// Options say what is measured of a load.
type Options struct {
	// Warmup is the part of the load before the window.
	Warmup time.Duration
	Window time.Duration
	// ByDue has a request belong to the window that it was due in, rather than to that it ended in. The two differ by its
	// response time: under a load that changes, those that waited longest would be taken for a later load.
	ByDue bool
	// Calls is how many requests the load has after its warm-up, if it is a number of them, CallsMax at most:
	// the window then ends with the last one, and the latency of each is kept.
	Calls int
}

// Request is what is known of one request that has ended; times are nanoseconds, moments Unix time.
type Request struct {
	EndUnixNS int64
	// ServiceNS is the time from the actual send, or from the start of connecting if this request needed
	// a connection, to the full reply.
	ServiceNS int64
	// DueUnixNS is when the request was due; 0 if it never was.
	DueUnixNS int64
}

// Fold turns requests into counts and histograms. What it holds does not grow with their number.
// It is not safe for concurrent use.
type Fold struct {
	// File has what needs no folding: others count in it.
	File    File
	options Options
	// The window is start <= t < end, in nanoseconds of Unix time; nothing is in it until Open.
	start, end int64
	lastEnd    int64
	series     map[Key]*series
	reasons    map[FileError]int64
	// A load has streams of one operation. Their histograms are nil until the window has a value for them.
	streamed       string
	firstItem, gap *hdr.Histogram
}

// series is what is kept of all requests with the same operation and code.
type series struct {
	total int64
	// All are nil until the window has a value for them: each histogram takes a quarter of a megabyte.
	service, response *hdr.Histogram
	perSecond         []int64
	// calls has the service time of each request in nanoseconds, in the order that they ended in.
	calls []int64
}

// NewFold returns a fold without requests.
func NewFold(options Options) *Fold {
	return &Fold{
		File:    File{ErrorClasses: map[string]int64{}},
		options: options,
		series:  map[Key]*series{},
		reasons: map[FileError]int64{},
	}
}

// Open lets the window open `Warmup` after this moment. Requests that are added before are counted, and no more.
func (f *Fold) Open(loadStartUnixNS int64) {
	f.start = loadStartUnixNS + int64(f.options.Warmup)
	f.end = f.start + int64(f.options.Window)
}

// Add folds a request.
func (f *Fold) Add(key Key, taken Request) {
	s := f.series[key]
	if s == nil {
		s = &series{}
		f.series[key] = s
	}
	s.total++
	f.lastEnd = max(f.lastEnd, taken.EndUnixNS)
	moment := taken.EndUnixNS
	if f.options.ByDue && taken.DueUnixNS != 0 {
		moment = taken.DueUnixNS
	}
	if !f.isInside(moment) {
		return
	}
	f.addPerSecond(&s.perSecond, moment)
	record(&s.service, taken.ServiceNS)
	if len(s.calls) < f.options.Calls {
		s.calls = append(s.calls, taken.ServiceNS)
	}
	if taken.DueUnixNS != 0 { // Nothing is sent before it is due.
		record(&s.response, max(taken.EndUnixNS-taken.DueUnixNS, taken.ServiceNS))
	}
}

// AddReason counts the words that a request failed with.
func (f *Fold) AddReason(code Code, text string) {
	key := FileError{Code: code, Message: text}
	if _, known := f.reasons[key]; key.Message != "" && (known || len(f.reasons) < reasonsMax) {
		f.reasons[key]++
	}
}

// AddItems folds some of a stream's items by when they came. The request was due, or else sent, at a moment; the item
// before these came at another, or 0 if these begin with the first.
func (f *Fold) AddItems(operation string, askedUnixNS, previous int64, arrivals []int64) {
	counts := f.Streams(operation)
	counts.Items += int64(len(arrivals))
	for _, arrival := range arrivals {
		if f.isInside(arrival) {
			f.addPerSecond(&counts.PerSecond, arrival)
			if previous == 0 {
				record(&f.firstItem, arrival-askedUnixNS)
			} else {
				record(&f.gap, arrival-previous)
			}
		}
		previous = arrival
	}
}

// Streams returns the counts of the load's streams, which are all of one operation.
func (f *Fold) Streams(operation string) *FileStreams {
	if f.File.Streams == nil {
		f.streamed, f.File.Streams = operation, &FileStreams{PerSecond: []int64{}}
	}
	return f.File.Streams
}

func (f *Fold) isInside(moment int64) bool { return f.start <= moment && moment < f.end }

// addPerSecond counts a moment inside the window in its second.
func (f *Fold) addPerSecond(counts *[]int64, moment int64) {
	if len(*counts) == 0 {
		*counts = make([]int64, countSeconds(f.end-f.start))
	}
	(*counts)[(moment-f.start)/int64(time.Second)]++
}

// countSeconds returns how many seconds a window has; the last one may be a part of a second.
func countSeconds(lastsNS int64) int64 {
	return (lastsNS + int64(time.Second) - 1) / int64(time.Second)
}

func record(into **hdr.Histogram, ns int64) {
	if *into == nil {
		*into = hdr.New(lowestDiscernibleNS, highestTrackableNS, significantDigits)
	}
	// It can't fail: the value is within the range.
	_ = (*into).RecordValue(min(max(ns, 0), highestTrackableNS))
}

// Code is the outcome of a request, in the words of docs/histogram-file.md.
type Code string

// The outcomes that there are.
const (
	OK                Code = "ok"
	Cancelled         Code = "cancelled"
	Unknown           Code = "unknown"
	InvalidArgument   Code = "invalid_argument"
	DeadlineExceeded  Code = "deadline_exceeded"
	NotFound          Code = "not_found"
	AlreadyExists     Code = "already_exists"
	ResourceExhausted Code = "resource_exhausted"
	Unimplemented     Code = "unimplemented"
	Internal          Code = "internal"
	Unavailable       Code = "unavailable"
)

var ofHTTP = map[int]Code{
	400: InvalidArgument, 415: InvalidArgument, 404: NotFound, 405: Unimplemented, 409: AlreadyExists,
	413: ResourceExhausted, 500: Internal, 503: Unavailable,
}

// CodeOfHTTP returns the outcome that an HTTP status stands for.
func CodeOfHTTP(status int) Code {
	if status/100 == 2 {
		return OK
	}
	return cmp.Or(ofHTTP[status], Unknown)
}

var ofGRPC = map[int]Code{
	0: OK, 1: Cancelled, 2: Unknown, 3: InvalidArgument, 4: DeadlineExceeded, 5: NotFound, 6: AlreadyExists,
	8: ResourceExhausted, 12: Unimplemented, 13: Internal, 14: Unavailable,
}

// CodeOfGRPC returns the outcome that a gRPC status code stands for; the socket protocol uses the same codes.
func CodeOfGRPC(status int) Code { return cmp.Or(ofGRPC[status], Unknown) }
