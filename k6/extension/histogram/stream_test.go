package histogram

import (
	"slices"
	"testing"
	"time"

	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
	"wirebench.dev/wireload/histogram"
)

const streamed = "ledger.stream_transactions"

// items are those of a stream that was asked for at `sent`, at these moments after the start.
func (m *maker) items(sent, previous time.Duration, at ...time.Duration) *sample.Items {
	made := &sample.Items{
		Count: m.value(sample.StreamItemsMetric, at[len(at)-1], float64(len(at)), "name", streamed),
		Items: histogram.Items{SentUnixNS: start.Add(sent).UnixNano()},
	}
	if previous > 0 {
		made.PreviousUnixNS = start.Add(previous).UnixNano()
	}
	for _, moment := range at {
		made.ArrivalsUnixNS = append(made.ArrivalsUnixNS, start.Add(moment).UnixNano())
	}
	return made
}

func TestAnItemBelongsToTheWindowIfItCameInIt(t *testing.T) {
	fake := newMaker()
	// The first stream is asked for at the start: the window is from 100 ms on and before 1.1 s.
	got := folded(t, "warmup=100ms,window=1s",
		batch{fake.items(0, 0, 20*ms, 90*ms, 100*ms, 105*ms)},
		batch{fake.items(0, 105*ms, 115*ms, 1099*ms, 1100*ms), fake.items(150*ms, 0, 190*ms, 1050*ms)},
	)
	if want := start.Add(100 * ms).UnixNano(); got.Window.StartUnixNS != want {
		t.Errorf("want items to open the window at %d, got %d", want, got.Window.StartUnixNS)
	}
	if got.Streams.Items != 9 || !slices.Equal(got.Streams.PerSecond, []int64{6}) {
		t.Errorf("want 9 items and 6 in the window, got %+v", got.Streams)
	}
	if first := got.find(t, streamed, histogram.OK, "first_item"); first.TotalCount() != 1 || !near(first.Max(), 40*ms) {
		t.Errorf("want one first item after 40 ms, got %d", first.Max())
	}
	gap := got.find(t, streamed, histogram.OK, "gap")
	if gap.TotalCount() != 5 || !near(gap.Min(), 5*ms) || !near(gap.ValueAtPercentile(50), 10*ms) || !near(gap.Max(), 984*ms) {
		t.Errorf("want 10, 5, 10, 984 and 860 ms, got %v", gap.CumulativeDistribution())
	}
}

func TestTheFirstItemOfAStreamThatWasDueIsTimedFromThen(t *testing.T) {
	fake := newMaker()
	late := fake.items(30*ms, 0, 50*ms)
	late.DueUnixNS = start.Add(10 * ms).UnixNano()
	early := fake.items(30*ms, 0, 70*ms)
	early.DueUnixNS = start.Add(31 * ms).UnixNano() // By rounding: nothing is sent before it is due.
	first := folded(t, "window=1s", batch{late, early}).find(t, streamed, histogram.OK, "first_item")
	if !near(first.Min(), 40*ms) || !near(first.Max(), 40*ms) {
		t.Errorf("want 40 ms twice, got %d and %d", first.Min(), first.Max())
	}
}

func TestStreamsThatTheLoadsEndCancelsAreNoRequests(t *testing.T) {
	fake := newMaker()
	got := folded(t, "window=1s", batch{
		fake.items(0, 0, 10*ms),
		fake.value(sample.StreamDurationMetric, 20*ms, 20, "name", streamed, "status", "0"),
		fake.value(sample.CancelledStreamsMetric, 900*ms, 1, "name", streamed, "status", "1"),
	})
	if len(got.RequestsTotal) != 1 || got.RequestsTotal[histogram.OK] != 1 || got.Streams.Cancelled != 1 {
		t.Errorf("want a request and a cancelled stream, got %v and %v", got.RequestsTotal, got.Streams)
	}
	if got.Failures != nil || len(got.Errors) != 0 {
		t.Errorf("want no failures, got %v, %v", got.Failures, got.Errors)
	}
}

func TestALoadWithoutStreamsHasNone(t *testing.T) {
	fake := newMaker()
	if got := folded(t, "window=1s", []metrics.SampleContainer{fake.ok(10*ms, ms)}); got.Streams != nil {
		t.Errorf("want nothing of streams, got %v", got.Streams)
	}
}
