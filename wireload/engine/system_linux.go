package engine

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The shortest time slice that Linux gives.
const sliceNS = 100_000

// shortenSlices asks Linux for short time slices. A program that is woken with a shorter slice than the one that runs
// doesn't wait for the end of the other's, which takes some milliseconds: requests would leave late, and replies would be read
// late. It takes no share of the CPU from others and no privilege. Before Linux 6.12 it has no effect.
func shortenSlices() {
	for range 2 { // A thread that isn't reached yet may start another; the others pass their slice on.
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			id, _ := strconv.Atoi(task.Name())
			if attributes, err := unix.SchedGetAttr(id, 0); err == nil && attributes.Policy == unix.SCHED_NORMAL {
				attributes.Runtime = sliceNS
				_ = unix.SchedSetAttr(id, attributes, 0)
			}
		}
	}
}

// newAlarm returns a function that returns true at a moment, or at once if it has passed; false if the context is done.
// An idle Go program waits in epoll_wait, which counts in whole milliseconds: its own timers are half a millisecond late on
// average, and one at worst, which is more than a request takes here and all of it would be in the response time. A timer of
// the kernel's that Go waits for like for a socket has no such rounding.
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
			_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&once)), 0, 0, 0)
			return errno != 0
		}
		_, errno := readRaw(fd, rung[:])
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

// readRaw reads what is there.
func readRaw(fd uintptr, into []byte) (int, syscall.Errno) { return callRaw(unix.SYS_READ, fd, into) }

// writeRaw writes as much as there is room for.
func writeRaw(fd uintptr, from []byte) (int, syscall.Errno) { return callRaw(unix.SYS_WRITE, fd, from) }

func callRaw(number, fd uintptr, data []byte) (int, syscall.Errno) {
	for {
		count, _, errno := unix.RawSyscall(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)))
		if errno != unix.EINTR {
			return int(count), errno
		}
	}
}

// isHungUpRaw reports whether the other side of a socket sends nothing more.
func isHungUpRaw(fd uintptr) bool {
	var now unix.Timespec
	poll := unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
	count, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return count == 1
}
