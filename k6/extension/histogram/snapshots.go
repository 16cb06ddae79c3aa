package histogram

import (
	"sync"
	"time"

	"wirebench.dev/wireload/histogram"
)

// handOver is how often k6 passes on samples: so long after a second, all of its samples have arrived.
const handOver = 50 * time.Millisecond

// snapshotWriter writes a snapshot when a second of the window is over.
type snapshotWriter struct {
	path    string
	sampler histogram.Sampler
	writing sync.Mutex
}

// write writes a snapshot if a second is over. It doesn't wait for the disk, because k6 would delay requests until
// its samples are taken. If the snapshot before is still being written, this one is left out: the next one is of its
// own second alone.
func (w *snapshotWriter) write(f *fold, now time.Time) {
	state := w.sampler.Take(f.Fold, now.Add(-handOver))
	if state == nil {
		return
	}
	taken := w.sampler.Summarize(state)
	if !w.writing.TryLock() {
		return
	}
	go func() {
		defer w.writing.Unlock()
		// The load continues if the snapshot can't be written: it is only shown.
		_ = taken.Write(w.path)
	}()
}

// close returns when nothing is being written any more.
func (w *snapshotWriter) close() { w.writing.Lock() }
