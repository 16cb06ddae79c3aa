//go:build !linux

package load

// startMetronome does nothing where the process's timers need no help, or we don't know how to.
func startMetronome(*schedule) error { return nil }
