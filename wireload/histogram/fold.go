// Package histogram folds the requests of a load into counts and HdrHistograms, and writes them as the file
// that docs/histogram-file.md describes.
package histogram

import "wirebench.dev/wireload/variable"

// reasonsMax bounds the error texts that are kept: they may hold ids.
const reasonsMax = 1000

// Request is what is known of one request that has ended; times are nanoseconds, moments Unix time.
type Request struct {
	EndUnixNS int64
	// ServiceNS is the time from the actual send, or from the start of connecting if this request needed
	// a connection, to the full reply.
	ServiceNS int64
	// DueUnixNS is when the request was due; 0 if it never was.
	DueUnixNS int64
}

// SentUnixNS returns when the request was sent.
func (r Request) SentUnixNS() int64 { return r.EndUnixNS - r.ServiceNS }

// responseNS returns the time since the request was due, and whether it was due at all. Nothing is sent
// before it is due, so that it is the service time at least.
func (r Request) responseNS() (int64, bool) {
	return max(r.EndUnixNS-r.DueUnixNS, r.ServiceNS), r.DueUnixNS != 0
}

type (
	seriesKey struct {
		operation string
		code      Code
	}
	reasonKey struct {
		code Code
		text string
	}
)

// Fold turns requests into counts and histograms. What it holds does not grow with their number.
// It is not safe for concurrent use.
type Fold struct {
	options Options

	window  *window // nil until Open.
	series  map[seriesKey]*Series
	stream  *stream // nil until a stream was seen; a load has streams of one operation.
	reasons map[reasonKey]int64
	lastEnd int64
}

// NewFold returns a fold without requests.
func NewFold(options Options) *Fold {
	return &Fold{
		options: options,
		series:  map[seriesKey]*Series{},
		reasons: map[reasonKey]int64{},
	}
}

// Open lets the window open `Warmup` after this moment. Requests that are added before are counted, and no more.
func (f *Fold) Open(loadStartUnixNS int64) { f.window = openWindow(loadStartUnixNS, f.options) }

// Series returns what is kept of an operation's requests with this outcome.
func (f *Fold) Series(operation string, outcome Code) *Series {
	key := seriesKey{operation, outcome}
	found, known := f.series[key]
	if !known {
		found = &Series{operation: operation, code: outcome}
		f.series[key] = found
	}
	return found
}

// Add folds a request into a series of this fold.
func (f *Fold) Add(to *Series, taken Request) {
	to.add(taken, f.window)
	f.lastEnd = max(f.lastEnd, taken.EndUnixNS)
}

// AddReason counts the words that a request failed with; they may be the service's.
func (f *Fold) AddReason(outcome Code, text string) {
	text = variable.Hide(text)
	key := reasonKey{outcome, text}
	if _, known := f.reasons[key]; text != "" && (known || len(f.reasons) < reasonsMax) {
		f.reasons[key]++
	}
}

// AddItems folds items of a stream.
func (f *Fold) AddItems(operation string, taken *Items) { f.streamOf(operation).add(taken, f.window) }

// AddCancelled counts streams that were under way when the load was over.
func (f *Fold) AddCancelled(operation string, count int64) { f.streamOf(operation).cancelled += count }

func (f *Fold) streamOf(operation string) *stream {
	if f.stream == nil {
		f.stream = &stream{operation: operation}
	}
	return f.stream
}

// requests returns how many requests ended, whatever their outcome.
func (f *Fold) requests() int64 {
	count := int64(0)
	for _, each := range f.series {
		count += each.total
	}
	return count
}
