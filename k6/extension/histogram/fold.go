package histogram

import (
	"time"

	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/arrivals"
	"wirebench.dev/k6/barrier"
	"wirebench.dev/k6/sample"
	"wirebench.dev/wireload/histogram"
)

// How many tag sets are remembered before all are looked up again.
const tagSetsMax = 10_000

type tagSetKey struct {
	tags *metrics.TagSet
	wire wire
}

// meaning is what a metric is to us.
type meaning uint8

const (
	meaningNothing meaning = iota
	meaningRequest
	meaningSent
	meaningReceived
	meaningDropped
	meaningMismatch
	meaningReason
	meaningCancelled
)

var meanings = map[string]meaning{
	metrics.GRPCReqDurationName:   meaningRequest,
	sample.SocketDurationMetric:   meaningRequest,
	sample.FailedDurationMetric:   meaningRequest,
	sample.StreamDurationMetric:   meaningRequest,
	metrics.DataSentName:          meaningSent,
	metrics.DataReceivedName:      meaningReceived,
	metrics.DroppedIterationsName: meaningDropped,
	sample.MismatchesMetric:       meaningMismatch,
	sample.ReasonsMetric:          meaningReason,
	sample.CancelledStreamsMetric: meaningCancelled,
}

// fold turns k6's samples into what histogram.Fold takes.
type fold struct {
	*histogram.Fold
	options histogram.Options

	counts                   histogram.Counts
	bytesSent, bytesReceived float64
	bytesCounted             bool

	// Finding out what a metric or a set of tags means costs more than folding a sample, and k6 gives
	// equal ones the same address.
	meaningOf map[*metrics.Metric]meaning
	seriesOf  map[tagSetKey]*histogram.Series
}

func newFold(options histogram.Options) *fold {
	return &fold{
		Fold:      histogram.NewFold(options),
		options:   options,
		meaningOf: map[*metrics.Metric]meaning{},
		seriesOf:  map[tagSetKey]*histogram.Series{},
	}
}

// add folds a batch of samples.
func (f *fold) add(batch []metrics.SampleContainer) {
	if !f.IsOpen() {
		f.openWindow(batch)
	}
	for _, container := range batch {
		if items, ok := container.(*sample.Items); ok {
			operation, _ := items.Count.Tags.Get(sample.NameTag)
			f.AddItems(operation, &items.Items)
			continue
		}
		f.each(container, f.addRequest, f.addOther)
	}
}

// openWindow lets the window open `warmup` after the load began: at the moment that arrivals count from,
// or, where nothing is ever due, when the first request was sent. Then the first batch that has a request
// decides: one that was sent before all of those but took so long that it comes in a later batch would
// only move the window by less than k6's 50 ms between batches.
//
// After a warm-up by calls it opens when that has ended. Batches before hold nothing but warm-up.
func (f *fold) openWindow(batch []metrics.SampleContainer) {
	if f.options.WarmupCalls > 0 {
		if at, ended := barrier.WarmedUpAt(); ended {
			f.Open(at)
		}
		return
	}
	first, seen := arrivals.StartedAt()
	if seen {
		f.Open(first)
		return
	}
	sentAt := func(sent int64) {
		if !seen || sent < first {
			first, seen = sent, true
		}
	}
	for _, container := range batch {
		if items, ok := container.(*sample.Items); ok {
			sentAt(items.SentUnixNS)
			continue
		}
		f.each(container, func(taken request) { sentAt(taken.SentUnixNS()) }, func(meaning, metrics.Sample) {})
	}
	if seen {
		f.Open(first)
	}
}

func (f *fold) each(container metrics.SampleContainer, onRequest func(request), onOther func(meaning, metrics.Sample)) {
	if trail, ok := container.(*httpext.Trail); ok {
		onRequest(requestOfTrail(trail))
		return
	}
	for _, taken := range container.GetSamples() {
		switch means := f.meaning(taken.Metric); means {
		case meaningNothing:
		case meaningRequest:
			onRequest(requestOfSample(taken))
		default:
			onOther(means, taken)
		}
	}
}

func (f *fold) meaning(metric *metrics.Metric) meaning {
	means, known := f.meaningOf[metric]
	if !known {
		means = meanings[metric.Name]
		f.meaningOf[metric] = means
	}
	return means
}

func (f *fold) addRequest(taken request) {
	found := f.find(taken)
	f.Add(found, taken.Request)
	if found.Code() != histogram.OK {
		f.AddReason(found.Code(), taken.reason())
	}
}

func (f *fold) addOther(means meaning, taken metrics.Sample) {
	switch means {
	case meaningSent:
		f.bytesCounted = true
		f.bytesSent += taken.Value
	case meaningReceived:
		f.bytesReceived += taken.Value
	case meaningDropped:
		f.counts.DroppedIterations += int64(taken.Value)
	case meaningMismatch:
		f.counts.Mismatches += int64(taken.Value)
	case meaningReason:
		status, _ := taken.Tags.Get(sample.StatusTag)
		f.AddReason(codeOfGRPC(status), taken.Metadata[sample.ErrorMetadata])
	case meaningCancelled:
		operation, _ := taken.Tags.Get(sample.NameTag)
		f.AddCancelled(operation, int64(taken.Value))
	}
}

func (f *fold) find(taken request) *histogram.Series {
	cacheKey := tagSetKey{taken.tags, taken.wire}
	if found, known := f.seriesOf[cacheKey]; known {
		return found
	}
	if len(f.seriesOf) >= tagSetsMax {
		clear(f.seriesOf)
	}
	found := f.Series(taken.labels())
	f.seriesOf[cacheKey] = found
	return found
}

// report returns what was folded of a load that ended at this moment.
func (f *fold) report(driverVersion string, ended time.Time) (histogram.File, error) {
	counts := f.counts
	if f.bytesCounted {
		counts.Bytes = &histogram.Bytes{Sent: int64(f.bytesSent), Received: int64(f.bytesReceived)}
	}
	return f.Report(histogram.Driver{Name: "k6", Version: driverVersion}, ended, counts)
}
