package stream

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
	"wirebench.dev/wireload/histogram"
)

const (
	// Items are handed on so many at a time, and a slow stream's at least so often that our output hears
	// of them while it can still tell when the load began.
	batchItemsMax = 512
	batchLasts    = 50 * time.Millisecond
)

// arrivals notes when the items of one stream came.
type arrivals struct {
	ctx     context.Context
	samples chan<- metrics.SampleContainer
	count   metrics.TimeSeries

	sent              time.Time
	sentUnixNS, dueNS int64
	previousNS        int64
	batch             []int64
	batchItems        int
	// last is when the last item came, in nanoseconds since sent; read to find stalls.
	last atomic.Int64
}

// begin starts the clock of a stream that is about to be asked for.
func (c *Client) begin(state *lib.State, tags metrics.TagsAndMeta, limit int64) *arrivals {
	size := int64(batchItemsMax)
	if limit > 0 {
		size = min(size, limit)
	}
	due, _ := strconv.ParseInt(tags.Metadata[sample.DueMetadata], 10, 64)
	sent := time.Now()
	return &arrivals{
		ctx:     c.instance.vu.Context(),
		samples: state.Samples,
		count:   metrics.TimeSeries{Metric: c.instance.items, Tags: tags.Tags},
		sent:    sent, sentUnixNS: sent.UnixNano(), dueNS: due,
		batchItems: int(size),
	}
}

// add notes that an item has come whole. Time passes by the monotonic clock; since the sending, because
// that takes one clock's reading instead of two.
func (a *arrivals) add() {
	since := int64(time.Since(a.sent))
	a.last.Store(since)
	now := a.sentUnixNS + since
	if a.batch == nil {
		a.batch = make([]int64, 0, a.batchItems)
	}
	a.batch = append(a.batch, now)
	if len(a.batch) == a.batchItems || now-a.batch[0] >= int64(batchLasts) {
		a.flush()
	}
}

// sinceLast returns for how long there has been no item.
func (a *arrivals) sinceLast() time.Duration {
	return time.Since(a.sent) - time.Duration(a.last.Load())
}

// flush hands on what came since the last time.
func (a *arrivals) flush() {
	if len(a.batch) == 0 {
		return
	}
	last := a.batch[len(a.batch)-1]
	metrics.PushIfNotDone(a.ctx, a.samples, &sample.Items{
		Count: metrics.Sample{TimeSeries: a.count, Time: time.Unix(0, last), Value: float64(len(a.batch))},
		Items: histogram.Items{
			SentUnixNS:     a.sentUnixNS,
			DueUnixNS:      a.dueNS,
			PreviousUnixNS: a.previousNS,
			ArrivalsUnixNS: a.batch,
		},
	})
	a.previousNS, a.batch = last, nil
}
