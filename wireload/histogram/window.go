package histogram

import "time"

// Options say what is measured of a load.
type Options struct {
	// Warmup is the part of the load before the window.
	Warmup time.Duration
	Window time.Duration
	// ByDue has a request belong to the window that it was due in, rather than to that it ended in.
	ByDue bool
	// Slices is how many parts of the window have a histogram of their own, SlicesMax at most.
	Slices int
	// Calls is how many requests the load has after its warm-up, if it is a number of them, CallsMax at most:
	// the window then ends with the last one, and the latency of each is kept.
	Calls int
	// WarmupCalls is how many requests warm up, if it is a number of them.
	WarmupCalls int
}

const (
	// SlicesMax bounds the memory: each slice of each operation takes a quarter of a megabyte.
	SlicesMax = 100
	// CallsMax bounds the file: each call takes some ten characters of it.
	CallsMax = 100_000
)

// window is the measured part of the load: start <= t < end, in nanoseconds of Unix time.
type window struct {
	start, end int64
	byDue      bool
	slices     int
	calls      int
}

func openWindow(loadStart int64, asked Options) *window {
	start := loadStart + int64(asked.Warmup)
	return &window{
		start: start, end: start + int64(asked.Window), byDue: asked.ByDue, slices: asked.Slices, calls: asked.Calls,
	}
}

// moment returns when a request counts: at its end, or when it was due. The two differ by its response
// time: under a load that changes, and makes requests wait for a while, those that waited longest would
// be taken for a later load, or be left out.
func (w *window) moment(taken Request) int64 {
	if w.byDue && taken.DueUnixNS != 0 {
		return taken.DueUnixNS
	}
	return taken.EndUnixNS
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

// closedAt returns what was measured of the window if the load ended at t: after it normally, inside
// it when the driver was interrupted. Rates over a window that nothing happened in would be wrong.
func (w *window) closedAt(t int64) *window {
	closed := *w
	closed.end = max(w.start, min(w.end, t))
	return &closed
}
