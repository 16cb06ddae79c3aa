package arrivals

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes its owner at a moment, and not later.
//
// An idle Go program waits in epoll_wait, which counts in whole milliseconds: its own timers are half a
// millisecond late on average, and one at worst, which is more than a request takes here and all of it
// would be in the response time. A timer of the kernel's that Go waits for like for a socket has no such
// rounding.
type alarm struct {
	ctx  context.Context //nolint:containedctx // It lasts as long as the scenario that it is made for.
	fd   int
	file *os.File
	off  func() bool
}

// newAlarm returns an alarm that ends every wait when the context is done.
func newAlarm(ctx context.Context) (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "alarm")
	off := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) })
	return &alarm{ctx: ctx, fd: fd, file: file, off: off}, nil
}

// wait returns true at that moment, or at once if it has passed; false if the context is done.
func (a *alarm) wait(moment time.Time) bool {
	if left := time.Until(moment); left > 0 && a.ctx.Err() == nil {
		if !a.ring(left) {
			return false
		}
	}
	return a.ctx.Err() == nil
}

func (a *alarm) ring(after time.Duration) bool {
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	if err := unix.TimerfdSettime(a.fd, 0, &once, nil); err != nil {
		return false
	}
	var count [8]byte
	_, err := a.file.Read(count[:])
	return err == nil
}

func (a *alarm) close() {
	a.off()
	_ = a.file.Close()
}
