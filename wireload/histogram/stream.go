package histogram

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// Items are some of a stream's items, in the order that they came in.
type Items struct {
	// SentUnixNS is when the stream's request was sent, and DueUnixNS when it was due, or 0.
	SentUnixNS, DueUnixNS int64
	// PreviousUnixNS is when the item before these came, or 0 if these begin with the first.
	PreviousUnixNS int64
	ArrivalsUnixNS []int64
}

// stream is what is kept of all items of all streams.
type stream struct {
	operation string
	items     int64
	cancelled int64
	// Both are nil until the window has a value for them.
	firstItem *hdr.Histogram
	gap       *hdr.Histogram
	perSecond []int64
}

// add folds items. The time to a stream's first item runs from when it was due, or else sent, as
// response and service times do.
func (s *stream) add(taken *Items, in *window) {
	s.items += int64(len(taken.ArrivalsUnixNS))
	asked := taken.SentUnixNS
	if taken.DueUnixNS != 0 {
		asked = min(asked, taken.DueUnixNS)
	}
	previous := taken.PreviousUnixNS
	for _, arrival := range taken.ArrivalsUnixNS {
		if in != nil && in.holds(arrival) {
			s.addInside(arrival, previous, asked, in)
		}
		previous = arrival
	}
}

func (s *stream) addInside(arrival, previous, asked int64, in *window) {
	if s.perSecond == nil {
		s.perSecond = make([]int64, in.seconds())
	}
	s.perSecond[in.second(arrival)]++
	if previous == 0 {
		record(&s.firstItem, arrival-asked)
	} else {
		record(&s.gap, arrival-previous)
	}
}
