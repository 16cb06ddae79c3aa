package histogram

import "time"

// window is the measured part of the load: start <= t < end, in nanoseconds of Unix time.
type window struct {
	start, end int64
	byDue      bool
	slices     int
	calls      int
}

func openWindow(loadStart int64, asked config) *window {
	start := loadStart + int64(asked.warmup)
	return &window{
		start: start, end: start + int64(asked.window), byDue: asked.byDue, slices: asked.slices, calls: asked.calls,
	}
}

// moment returns when a request counts: at its end, or when it was due. The two differ by its response
// time: under a load that changes, and makes requests wait for a while, those that waited longest would
// be taken for a later load, or be left out.
func (w *window) moment(taken request) int64 {
	if w.byDue {
		if due, ok := taken.due(); ok {
			return due
		}
	}
	return taken.end
}

// slice returns which of the window's equal slices a moment inside it belongs to.
func (w *window) slice(t int64) int {
	return int(float64(t-w.start) / float64(w.end-w.start) * float64(w.slices))
}

func (w *window) holds(t int64) bool { return w.start <= t && t < w.end }

// second returns which second of the window a moment inside it belongs to.
func (w *window) second(t int64) int { return int((t - w.start) / int64(time.Second)) }

// seconds returns how many seconds the window has; the last one may be a part of a second.
func (w *window) seconds() int {
	return int((w.end - w.start + int64(time.Second) - 1) / int64(time.Second))
}

// secondsBefore returns how many seconds of the window are over at t, which may be after its end.
func (w *window) secondsBefore(t int64) int { return int((t - w.start) / int64(time.Second)) }

// closedAt returns what was measured of the window if the load ended at t: after it normally, inside
// it when k6 was interrupted. Rates over a window that nothing happened in would be wrong.
func (w *window) closedAt(t int64) *window {
	closed := *w
	closed.end = max(w.start, min(w.end, t))
	return &closed
}
