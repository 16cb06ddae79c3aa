package histogram

import (
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	snapshotSchema = "wirebench.snapshot/1"
	// handOver is how often k6 hands samples over: when so long has passed, those of a second have come.
	handOver = 50 * time.Millisecond
)

// snapshot is what a load that goes on tells of itself; docs/histogram-file.md says what its fields mean.
type snapshot struct {
	Schema     string           `json:"schema"`
	Seconds    int              `json:"seconds"`
	Successful int64            `json:"successful"`
	Failed     int64            `json:"failed"`
	Items      *int64           `json:"items,omitempty"`
	Latency    *snapshotLatency `json:"latency,omitempty"`
}

type snapshotLatency struct {
	Clock string `json:"clock"`
	P50NS int64  `json:"p50_ns"`
	P99NS int64  `json:"p99_ns"`
}

// teller writes a snapshot when a second of the window is over. Folding a sample costs nothing more for
// it: what came in a second is the difference of two states of what is kept anyhow.
type teller struct {
	path    string
	seconds int     // Those that were told of.
	counts  []int64 // The histogram's as they were then.
	writing sync.Mutex
}

// tell writes how the load goes if there is news. The disk may take its time: k6 would make requests
// wait if its samples weren't taken meanwhile. A second that is over before the one before is written is
// left out, and counted all the same: the next snapshot is of its own second alone.
func (t *teller) tell(f *fold, now time.Time) {
	if f.window == nil {
		return
	}
	seconds := min(f.window.secondsBefore(now.Add(-handOver).UnixNano()), f.window.secondsBefore(f.window.end))
	if seconds <= t.seconds {
		return
	}
	t.seconds = seconds
	taken := t.take(f)
	if !t.writing.TryLock() {
		return
	}
	go func() {
		defer t.writing.Unlock()
		// Nobody may be watching: the load goes on if it can't be written.
		_ = taken.writeTo(t.path)
	}()
}

// end returns when nothing is being written any more.
func (t *teller) end() { t.writing.Lock() }

func (t *teller) take(f *fold) snapshot {
	last := t.seconds - 1
	made := snapshot{Schema: snapshotSchema, Seconds: t.seconds}
	for _, each := range f.series {
		if each.perSecond == nil {
			continue
		}
		if each.code == codeOK {
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
		made.Latency = &snapshotLatency{clock, added.ValueAtPercentile(50), added.ValueAtPercentile(99)}
	}
	return made
}

// added returns what the histograms together have got since the last snapshot.
func (t *teller) added(to []*hdr.Histogram) *hdr.Histogram {
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
func (f *fold) latencies() (clock string, all []*hdr.Histogram) {
	if f.stream != nil {
		return "gap", present(f.stream.gap)
	}
	var service, response []*hdr.Histogram
	for _, each := range f.series {
		if each.code == codeOK {
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

func (s snapshot) writeTo(path string) error {
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
