package histogram

import (
	"sync"
	"time"

	"wirebench.dev/wireload/histogram"
)

// handOver is how often k6 hands samples over: when so long has passed, those of a second have come.
const handOver = 50 * time.Millisecond

// teller writes a snapshot when a second of the window is over.
type teller struct {
	path    string
	sampler histogram.Sampler
	writing sync.Mutex
}

// tell writes how the load goes if there is news. The disk may take its time: k6 would make requests
// wait if its samples weren't taken meanwhile. A second that is over before the one before is written is
// left out, and counted all the same: the next snapshot is of its own second alone.
func (t *teller) tell(f *fold, now time.Time) {
	state := t.sampler.Take(f.Fold, now.Add(-handOver))
	if state == nil {
		return
	}
	taken := t.sampler.Summarize(state)
	if !t.writing.TryLock() {
		return
	}
	go func() {
		defer t.writing.Unlock()
		// The load goes on if the snapshot can't be written: it is only shown.
		_ = taken.Write(t.path)
	}()
}

// end returns when nothing is being written any more.
func (t *teller) end() { t.writing.Lock() }
