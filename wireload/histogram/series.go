package histogram

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// The histograms' shape, the same for all drivers so that any two of them merge exactly.
const (
	lowestDiscernibleNS = 1
	highestTrackableNS  = 60_000_000_000
	significantDigits   = 3
)

// Series is what is kept of all requests with the same operation and code.
type Series struct {
	operation string
	code      Code
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

// Code returns the outcome of all requests of the series.
func (s *Series) Code() Code { return s.code }

func (s *Series) add(taken Request, in *window) {
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
	record(&s.service, taken.ServiceNS)
	if len(s.calls) < in.calls {
		s.calls = append(s.calls, taken.ServiceNS)
	}
	waited := taken.ServiceNS
	if response, ok := taken.responseNS(); ok {
		record(&s.response, response)
		waited = response
	}
	if s.code == OK && in.slices > 0 {
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
