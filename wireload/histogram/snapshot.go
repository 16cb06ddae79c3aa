package histogram

import (
	"encoding/json"
	"os"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const snapshotSchema = "wirebench.snapshot/1"

// Snapshot is how a load went in one second of its window; docs/histogram-file.md says what its fields mean.
type Snapshot struct {
	Schema     string           `json:"schema"`
	Seconds    int              `json:"seconds"`
	Successful int64            `json:"successful"`
	Failed     int64            `json:"failed"`
	Items      *int64           `json:"items,omitempty"`
	Latency    *SnapshotLatency `json:"latency,omitempty"`
}

// SnapshotLatency are percentiles of what came in that second.
type SnapshotLatency struct {
	Clock string `json:"clock"`
	P50NS int64  `json:"p50_ns"`
	P99NS int64  `json:"p99_ns"`
}

// Sampler takes a snapshot of a fold whenever a second of its window is over. Folding a request costs nothing more
// for it: what came in a second is the difference of two states of what is kept anyhow.
type Sampler struct {
	seconds int     // Those that snapshots were taken of.
	counts  []int64 // The histograms' as they were then.
}

// Take returns a snapshot of the last full second before `now`, if none was taken of it yet.
func (t *Sampler) Take(f *Fold, now time.Time) (Snapshot, bool) {
	if f.window == nil {
		return Snapshot{}, false
	}
	seconds := min(f.window.secondsBefore(now.UnixNano()), f.window.secondsBefore(f.window.end))
	if seconds <= t.seconds {
		return Snapshot{}, false
	}
	t.seconds = seconds
	return t.take(f), true
}

func (t *Sampler) take(f *Fold) Snapshot {
	last := t.seconds - 1
	made := Snapshot{Schema: snapshotSchema, Seconds: t.seconds}
	for _, each := range f.series {
		if each.perSecond == nil {
			continue
		}
		if each.code == OK {
			made.Successful += each.perSecond[last]
		} else {
			made.Failed += each.perSecond[last]
		}
	}
	if f.stream != nil {
		items := int64(0)
		if f.stream.perSecond != nil {
			items = f.stream.perSecond[last]
		}
		made.Items = &items
	}
	clock, all := f.latencies()
	if added := t.added(all); added.TotalCount() > 0 {
		made.Latency = &SnapshotLatency{clock, added.ValueAtPercentile(50), added.ValueAtPercentile(99)}
	}
	return made
}

// added returns what the histograms together have got since the last snapshot.
func (t *Sampler) added(to []*hdr.Histogram) *hdr.Histogram {
	state := hdr.New(lowestDiscernibleNS, highestTrackableNS, significantDigits).Export()
	for _, each := range to {
		for place, count := range each.Export().Counts {
			state.Counts[place] += count
		}
	}
	before := t.counts
	t.counts = slices.Clone(state.Counts)
	for place, count := range before {
		state.Counts[place] -= count
	}
	return hdr.Import(state)
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

// Write replaces the snapshot file: a reader sees a whole one.
func (s Snapshot) Write(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	temporary := path + ".tmp"
	err = os.WriteFile(temporary, text, 0o644)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}
