package load

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Ticks are not closer together than this: at such rates the process rarely sleeps anyway.
const tickMin = 200 * time.Microsecond

// A little after the moment itself, so that k6's own timer has expired when the process wakes.
const tickAfter = 5 * time.Microsecond

// startMetronome wakes the process at every moment of the schedule, until it ends.
//
// An idle Go program waits in epoll_wait, which counts in whole milliseconds: k6 starts iterations
// half a millisecond late on average, and one at worst, which is more than a request takes here and
// all of it would be in the response time. A timer of the kernel's that Go waits for like for a
// socket has no such rounding; when it fires, Go looks at its own timers as well.
func startMetronome(schedule *schedule) error {
	interval := schedule.interval()
	for interval < tickMin {
		interval *= 2
	}
	next := interval - time.Since(schedule.due(0))%interval
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return err
	}
	timer := unix.ItimerSpec{
		Interval: unix.NsecToTimespec(int64(interval)),
		Value:    unix.NsecToTimespec(int64(next + tickAfter)),
	}
	if err := unix.TimerfdSettime(fd, 0, &timer, nil); err != nil {
		_ = unix.Close(fd)
		return err
	}
	ticks := os.NewFile(uintptr(fd), "metronome")
	go func() {
		defer func() { _ = ticks.Close() }()
		for count := make([]byte, 8); ; {
			if _, err := ticks.Read(count); err != nil {
				return
			}
		}
	}()
	return nil
}
