//go:build !linux

// Package raw has system calls on descriptors that never block.
package raw

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Read reads what is there.
func Read(fd uintptr, into []byte) (int, syscall.Errno) { return result(unix.Read(int(fd), into)) }

// Write writes as much as there is room for.
func Write(fd uintptr, from []byte) (int, syscall.Errno) { return result(unix.Write(int(fd), from)) }

func result(count int, err error) (int, syscall.Errno) {
	var errno syscall.Errno
	errors.As(err, &errno)
	return max(count, 0), errno
}

// IsHungUp reports whether a connection is closed in both directions.
func IsHungUp(fd uintptr, poll *unix.PollFd) bool {
	*poll = unix.PollFd{Fd: int32(fd), Events: unix.POLLHUP}
	count, _ := unix.Poll([]unix.PollFd{*poll}, 0)
	return count == 1
}
