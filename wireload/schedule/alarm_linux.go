package schedule

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Alarm wakes its owner at a moment, and not later.
//
// An idle Go program waits in epoll_wait, which counts in whole milliseconds: its own timers are half a
// millisecond late on average, and one at worst, which is more than a request takes here and all of it
// would be in the response time. A timer of the kernel's that Go waits for like for a socket has no such
// rounding.
type Alarm struct {
	ctx  context.Context //nolint:containedctx // It lasts as long as the scenario that it is made for.
	fd   int
	file *os.File
	off  func() bool
	// rung is what is read of the timer, kept so that no wait allocates.
	rung [8]byte
}

// NewAlarm returns an alarm that ends every wait when the context is done.
func NewAlarm(ctx context.Context) (*Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "alarm")
	off := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) })
	return &Alarm{ctx: ctx, fd: fd, file: file, off: off}, nil
}

// Wait returns true at that moment, or at once if it has passed; false if the context is done.
func (a *Alarm) Wait(moment time.Time) bool {
	if left := time.Until(moment); left > 0 && a.ctx.Err() == nil {
		if !a.ring(left) {
			return false
		}
	}
	return a.ctx.Err() == nil
}

func (a *Alarm) ring(after time.Duration) bool {
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	if err := unix.TimerfdSettime(a.fd, 0, &once, nil); err != nil {
		return false
	}
	_, err := a.file.Read(a.rung[:])
	return err == nil
}

// Close frees the alarm.
func (a *Alarm) Close() {
	a.off()
	_ = a.file.Close()
}
