//go:build !linux

package engine

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func shortenSlices() {}

// newAlarm returns a function that returns true at a moment, as punctually as Go's timers are; false if the context is done.
func newAlarm(ctx context.Context) (func(time.Time) bool, error) {
	return func(moment time.Time) bool { return sleep(ctx, time.Until(moment)) }, nil
}

// readRaw reads what is there.
func readRaw(fd uintptr, into []byte) (int, syscall.Errno) { return result(unix.Read(int(fd), into)) }

// writeRaw writes as much as there is room for.
func writeRaw(fd uintptr, from []byte) (int, syscall.Errno) { return result(unix.Write(int(fd), from)) }

func result(count int, err error) (int, syscall.Errno) {
	errno, _ := err.(syscall.Errno)
	return max(count, 0), errno
}

// isHungUpRaw reports whether a connection is closed in both directions.
func isHungUpRaw(fd uintptr) bool {
	count, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLHUP}}, 0)
	return count == 1
}
