package load

import (
	"strconv"

	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/arrivals"
	"wirebench.dev/k6/sample"
)

// due notes in the VU's metadata when this iteration was due, so that all its samples carry it. Under a
// closed load, where a user sends when it can, it does nothing.
func (i *instance) due() {
	due, ok := arrivals.DueAt(i.vu.Context())
	if !ok {
		return
	}
	i.state().Tags.Modify(func(current *metrics.TagsAndMeta) {
		current.SetMetadata(sample.DueMetadata, strconv.FormatInt(due.UnixNano(), 10))
	})
}
