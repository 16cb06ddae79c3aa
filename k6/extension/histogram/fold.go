package histogram

import (
	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/arrivals"
	"wirebench.dev/k6/barrier"
	"wirebench.dev/k6/sample"
)

const (
	// A script that forgets to name its requests has a name for every URL. Further operations than
	// these are folded into one.
	operationsMax   = 100
	operationBeyond = "(other)"
	// Error texts may hold ids. Further ones than these are not kept.
	reasonsMax = 1000
	// How many tag sets are remembered before they are looked up anew.
	tagSetsMax = 10_000
)

type (
	seriesKey struct {
		operation string
		code      code
	}
	tagSetKey struct {
		tags *metrics.TagSet
		wire wire
	}
	reasonKey struct {
		code code
		text string
	}
)

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

// fold turns samples into counts and histograms. What it holds does not grow with their number.
type fold struct {
	config config

	window     *window // nil until a request was seen, or a warm-up by calls has ended.
	series     map[seriesKey]*series
	stream     *stream // nil until a stream was seen; a load has streams of one operation.
	operations map[string]struct{}
	reasons    map[reasonKey]int64

	mismatches, dropped      int64
	bytesSent, bytesReceived float64
	bytesCounted             bool
	failures                 *fileWindow
	lastEnd                  int64

	// Finding out what a metric or a set of tags means costs more than folding a sample, and k6 gives
	// equal ones the same address.
	meaningOf map[*metrics.Metric]meaning
	seriesOf  map[tagSetKey]*series
}

func newFold(asked config) *fold {
	return &fold{
		config:     asked,
		series:     map[seriesKey]*series{},
		operations: map[string]struct{}{},
		reasons:    map[reasonKey]int64{},
		meaningOf:  map[*metrics.Metric]meaning{},
		seriesOf:   map[tagSetKey]*series{},
	}
}

// add folds a batch of samples.
func (f *fold) add(batch []metrics.SampleContainer) {
	if f.window == nil {
		f.openWindow(batch)
	}
	for _, container := range batch {
		if items, ok := container.(*sample.Items); ok {
			f.streamOf(items.Count.Tags).add(items, f.window)
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
	if f.config.warmupCalls > 0 {
		if at, ended := barrier.WarmedUpAt(); ended {
			f.window = openWindow(at, f.config)
		}
		return
	}
	first, seen := arrivals.StartedAt()
	if seen {
		f.window = openWindow(first, f.config)
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
		f.each(container, func(taken request) { sentAt(taken.sent()) }, func(meaning, metrics.Sample) {})
	}
	if seen {
		f.window = openWindow(first, f.config)
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
	found.add(taken, f.window)
	f.lastEnd = max(f.lastEnd, taken.end)
	if found.code != codeOK {
		f.addReason(found.code, taken.reason())
		f.addFailure(taken.end)
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
		f.dropped += int64(taken.Value)
	case meaningMismatch:
		f.mismatches += int64(taken.Value)
	case meaningReason:
		status, _ := taken.Tags.Get(sample.StatusTag)
		f.addReason(codeOfGRPC(status), taken.Metadata[sample.ErrorMetadata])
	case meaningCancelled:
		f.streamOf(taken.Tags).cancelled += int64(taken.Value)
	}
}

// addFailure notes between which moments requests failed.
func (f *fold) addFailure(end int64) {
	if f.failures == nil {
		f.failures = &fileWindow{end, end}
	}
	f.failures.StartUnixNS = min(f.failures.StartUnixNS, end)
	f.failures.EndUnixNS = max(f.failures.EndUnixNS, end)
}

func (f *fold) addReason(outcome code, text string) {
	key := reasonKey{outcome, text}
	if _, known := f.reasons[key]; text != "" && (known || len(f.reasons) < reasonsMax) {
		f.reasons[key]++
	}
}

func (f *fold) streamOf(tags *metrics.TagSet) *stream {
	if f.stream == nil {
		operation, _ := tags.Get(sample.NameTag)
		f.stream = &stream{operation: operation}
	}
	return f.stream
}

func (f *fold) find(taken request) *series {
	cacheKey := tagSetKey{taken.tags, taken.wire}
	if found, known := f.seriesOf[cacheKey]; known {
		return found
	}
	operation, outcome := taken.labels()
	if _, known := f.operations[operation]; !known && len(f.operations) >= operationsMax {
		operation = operationBeyond
	}
	f.operations[operation] = struct{}{}
	key := seriesKey{operation, outcome}
	found, known := f.series[key]
	if !known {
		found = &series{operation: operation, code: outcome}
		f.series[key] = found
	}
	if len(f.seriesOf) >= tagSetsMax {
		clear(f.seriesOf)
	}
	f.seriesOf[cacheKey] = found
	return found
}
