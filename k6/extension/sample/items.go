package sample

import (
	"go.k6.io/k6/metrics"
	"wirebench.dev/wireload/histogram"
)

// Items are some of a stream's items, in the order that they came in. They go through k6 as one
// sample, since one for each item would cost more than receiving it; only our output looks inside.
type Items struct {
	// Count is what k6's other outputs see of them: how many they are. Its tags name the operation.
	Count metrics.Sample
	histogram.Items
}

// GetSamples implements metrics.SampleContainer.
func (i *Items) GetSamples() []metrics.Sample { return []metrics.Sample{i.Count} }
