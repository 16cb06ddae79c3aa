package histogram

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// The histograms' shape, the same for all drivers so that any two of them merge exactly.
const (
	lowestDiscernibleNS = 1
	highestTrackableNS  = 60_000_000_000
	significantDigits   = 3
)

// series is what is kept of all requests with the same operation and code.
type series struct {
	operation string
	code      code
	total     int64
	// Both are nil until the window has a value for them: each takes a quarter of a megabyte.
	service   *hdr.Histogram
	response  *hdr.Histogram
	perSecond []int64
	// slices has a histogram of the response clock, or of the only one, for each slice of the window;
	// nil where there is nothing in it. Only successful requests have them.
	slices []*hdr.Histogram
	// calls has the service time of each request in nanoseconds, in the order that they ended in, where
	// the load is a number of calls.
	calls []int64
}

func (s *series) add(taken request, in *window) {
	s.total++
	if in == nil {
		return
	}
	moment := in.moment(taken)
	if !in.holds(moment) {
		return
	}
	if s.perSecond == nil {
		s.perSecond = make([]int64, in.seconds())
		s.slices = make([]*hdr.Histogram, in.slices)
	}
	s.perSecond[in.second(moment)]++
	record(&s.service, taken.service)
	if len(s.calls) < in.calls {
		s.calls = append(s.calls, taken.service)
	}
	waited := taken.service
	if response, ok := taken.response(); ok {
		record(&s.response, response)
		waited = response
	}
	if s.code == codeOK && in.slices > 0 {
		record(&s.slices[in.slice(moment)], waited)
	}
}

func record(into **hdr.Histogram, ns int64) {
	if *into == nil {
		*into = hdr.New(lowestDiscernibleNS, highestTrackableNS, significantDigits)
	}
	// It can't fail: the value is within the range.
	_ = (*into).RecordValue(min(max(ns, 0), highestTrackableNS))
}
