package schedule

import (
	"context"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"wirebench.dev/wireload/raw"
)

// Alarm wakes its owner at a moment, and not later.
//
// An idle Go program waits in epoll_wait, which counts in whole milliseconds: its own timers are half a
// millisecond late on average, and one at worst, which is more than a request takes here and all of it
// would be in the response time. A timer of the kernel's that Go waits for like for a socket has no such
// rounding.
type Alarm struct {
	ctx  context.Context //nolint:containedctx // It lasts as long as the scenario that it is made for.
	file *os.File
	raw  syscall.RawConn
	off  func() bool
	// Kept so that no wait allocates: when the timer rings, whether it was set, and what is read of it.
	once  unix.ItimerSpec
	isSet bool
	// Why the timer could not be set.
	problem syscall.Errno
	rung    [8]byte
	wait    func(fd uintptr) bool
}

// NewAlarm returns an alarm that ends every wait when the context is done.
func NewAlarm(ctx context.Context) (*Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	file := os.NewFile(uintptr(fd), "alarm")
	connection, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	off := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) })
	a := &Alarm{ctx: ctx, file: file, raw: connection, off: off}
	a.wait = a.isRung
	return a, nil
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
	a.once.Value, a.isSet = unix.NsecToTimespec(int64(after)), false
	return a.raw.Read(a.wait) == nil && a.problem == 0
}

// isRung sets the timer when it is called first, and reports whether it has rung after that, or could not be set.
func (a *Alarm) isRung(fd uintptr) bool {
	if !a.isSet {
		a.isSet = true
		a.problem = raw.SetTimer(fd, &a.once)
		return a.problem != 0
	}
	_, errno := raw.Read(fd, a.rung[:])
	return errno != syscall.EAGAIN
}

// Close frees the alarm.
func (a *Alarm) Close() {
	a.off()
	_ = a.file.Close()
}
