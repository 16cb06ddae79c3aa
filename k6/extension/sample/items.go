package sample

import "go.k6.io/k6/metrics"

// Items are some of a stream's items, in the order that they came in. They go through k6 as one
// sample, since one for each item would cost more than receiving it; only our output looks inside.
type Items struct {
	// Count is what k6's other outputs see of them: how many they are. Its tags name the operation.
	Count metrics.Sample
	// SentUnixNS is when the stream's request was sent, and DueUnixNS when it was due, or 0.
	SentUnixNS, DueUnixNS int64
	// PreviousUnixNS is when the item before these came, or 0 if these begin with the first.
	PreviousUnixNS int64
	ArrivalsUnixNS []int64
}

// GetSamples implements metrics.SampleContainer.
func (i *Items) GetSamples() []metrics.Sample { return []metrics.Sample{i.Count} }
