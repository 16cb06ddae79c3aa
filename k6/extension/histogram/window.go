package histogram

import "time"

// window is the measured part of the load: start <= t < end, in nanoseconds of Unix time.
type window struct {
	start, end int64
}

func openWindow(firstSent int64, warmup, length time.Duration) *window {
	start := firstSent + int64(warmup)
	return &window{start: start, end: start + int64(length)}
}

func (w *window) holds(t int64) bool { return w.start <= t && t < w.end }

// second returns which second of the window a moment inside it belongs to.
func (w *window) second(t int64) int { return int((t - w.start) / int64(time.Second)) }

// seconds returns how many seconds the window has; the last one may be a part of a second.
func (w *window) seconds() int {
	return int((w.end - w.start + int64(time.Second) - 1) / int64(time.Second))
}

// closedAt returns what was measured of the window if the load ended at t: after it normally, inside
// it when k6 was interrupted. Rates over a window that nothing happened in would be wrong.
func (w *window) closedAt(t int64) *window {
	return &window{start: w.start, end: max(w.start, min(w.end, t))}
}
