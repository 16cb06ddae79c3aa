package engine

import (
	"context"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"wirebench.dev/wireload/raw"
)

// newAlarm returns a function that returns true at a moment, or at once if it has passed; false if the context is done.
//
// An idle Go program waits in epoll_wait, which counts in whole milliseconds: its own timers are half a
// millisecond late on average, and one at worst, which is more than a request takes here and all of it
// would be in the response time. A timer of the kernel's that Go waits for like for a socket has no such
// rounding.
func newAlarm(ctx context.Context) (func(time.Time) bool, error) {
	descriptor, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	timer := os.NewFile(uintptr(descriptor), "alarm")
	connection, err := timer.SyscallConn()
	context.AfterFunc(ctx, func() { _ = timer.Close() })
	// Kept so that no wait allocates: when the timer rings, whether it was set, and what is read of it.
	var once unix.ItimerSpec
	var isSet bool
	var rung [8]byte
	wait := func(fd uintptr) (isOver bool) {
		if !isSet {
			isSet = true
			return raw.SetTimer(fd, &once) != 0
		}
		_, errno := raw.Read(fd, rung[:])
		return errno != syscall.EAGAIN
	}
	return func(moment time.Time) bool {
		left := time.Until(moment)
		if left <= 0 {
			return ctx.Err() == nil
		}
		once.Value, isSet = unix.NsecToTimespec(int64(left)), false
		return connection.Read(wait) == nil
	}, err
}
