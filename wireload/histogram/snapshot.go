package histogram

import (
	"runtime"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Snapshot is how a load went in the last full second of its window.
type Snapshot struct {
	Seconds    int // Full seconds of the window so far.
	Successful int64
	Failed     int64
	Items      *int64           // Of streams; nil without.
	Latency    *SnapshotLatency // Nil if nothing came.
}

// SnapshotLatency are percentiles of what came in that second.
type SnapshotLatency struct {
	Clock string
	P50NS int64
	P99NS int64
}

// Sampler takes a snapshot of a fold whenever a second of its window is over. Folding a request costs nothing more
// for it: what came in a second is the difference of two states of what is kept anyhow.
type Sampler struct {
	seconds int     // Those that snapshots were taken of.
	counts  []int64 // The histograms' as they were then.
}

// State is what a fold had at the end of a second.
type State struct {
	snapshot Snapshot
	clock    string
	counts   [][]int64
}

// Take copies the state of a fold if a full second has ended before `now` that it wasn't taken of yet. It is all that
// needs the fold, and takes some ten microseconds for each operation.
func (t *Sampler) Take(f *Fold, now time.Time) *State {
	if f.window == nil {
		return nil
	}
	seconds := min(f.window.secondsBefore(now.UnixNano()), f.window.secondsBefore(f.window.end))
	if seconds <= t.seconds {
		return nil
	}
	t.seconds = seconds
	last := seconds - 1
	taken := &State{snapshot: Snapshot{Seconds: seconds}}
	for _, each := range f.series {
		if each.perSecond == nil {
			continue
		}
		if each.code == OK {
			taken.snapshot.Successful += each.perSecond[last]
		} else {
			taken.snapshot.Failed += each.perSecond[last]
		}
	}
	if f.stream != nil {
		items := int64(0)
		if f.stream.perSecond != nil {
			items = f.stream.perSecond[last]
		}
		taken.snapshot.Items = &items
	}
	clock, all := f.latencies()
	taken.clock = clock
	for _, each := range all {
		taken.counts = append(taken.counts, each.Export().Counts)
	}
	return taken
}

// Summarize returns what came since the state that was summarized before. A load whose requests share a processor with
// this isn't kept from them for long: it yields in between.
func (t *Sampler) Summarize(taken *State) Snapshot {
	state := hdr.New(lowestDiscernibleNS, highestTrackableNS, significantDigits).Export()
	for _, counts := range taken.counts {
		runtime.Gosched()
		for place, count := range counts {
			state.Counts[place] += count
		}
	}
	before := t.counts
	t.counts = slices.Clone(state.Counts)
	runtime.Gosched()
	for place, count := range before {
		state.Counts[place] -= count
	}
	added := hdr.Import(state)
	if added.TotalCount() > 0 {
		runtime.Gosched()
		p50 := added.ValueAtPercentile(50)
		runtime.Gosched()
		taken.snapshot.Latency = &SnapshotLatency{taken.clock, p50, added.ValueAtPercentile(99)}
	}
	return taken.snapshot
}

// latencies returns what users wait for, and how long it took: for the next item of a stream, or for the
// reply to a request that succeeds, from when it was due, if it was.
func (f *Fold) latencies() (clock string, all []*hdr.Histogram) {
	if f.stream != nil {
		return "gap", present(f.stream.gap)
	}
	var service, response []*hdr.Histogram
	for _, each := range f.series {
		if each.code == OK {
			service = append(service, present(each.service)...)
			response = append(response, present(each.response)...)
		}
	}
	if len(response) > 0 {
		return "response", response
	}
	return "service", service
}

// present returns a histogram if there is one.
func present(histogram *hdr.Histogram) []*hdr.Histogram {
	if histogram == nil {
		return nil
	}
	return []*hdr.Histogram{histogram}
}
