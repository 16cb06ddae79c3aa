// Package raw has system calls on descriptors that never block, which Go's scheduler isn't told of. For any other call it
// wakes a thread of its own (sysmon), which looks for calls that block: in a load with pauses between requests that takes
// as much time as the requests themselves.
package raw

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Read reads what is there.
func Read(fd uintptr, into []byte) (int, syscall.Errno) {
	return call(unix.SYS_READ, fd, into)
}

// Write writes as much as there is room for.
func Write(fd uintptr, from []byte) (int, syscall.Errno) {
	return call(unix.SYS_WRITE, fd, from)
}

func call(number, fd uintptr, data []byte) (int, syscall.Errno) {
	for {
		count, _, errno := unix.RawSyscall(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)))
		switch errno {
		case 0:
			return int(count), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// IsHungUp reports whether the other side of a socket sends nothing more.
func IsHungUp(fd uintptr, poll *unix.PollFd) bool {
	var now unix.Timespec
	*poll = unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
	count, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return count == 1
}

// SetTimer has a timerfd ring once.
func SetTimer(fd uintptr, once *unix.ItimerSpec) syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(once)), 0, 0, 0)
	return errno
}
