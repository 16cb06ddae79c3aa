package main

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

const request = "GET /api/users/1000001 HTTP/1.1\r\nHost: bare\r\n\r\n"

// measurePace sends REST requests at a rate for a while, and returns the microseconds of CPU time that each took. It
// only sleeps, sends and receives: what a load generator takes that waits for the moment and then for the reply is more.
func measurePace(port, ratePerS, durationS int) (float64, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		return 0, err
	}
	out, in := []byte(request), make([]byte, bufferBytes)
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return 0, err
	}
	requests, due := ratePerS*durationS, time.Now()
	for range requests {
		due = due.Add(time.Second / time.Duration(ratePerS))
		if left := time.Until(due); left > 0 {
			sleep := syscall.NsecToTimespec(left.Nanoseconds())
			// Go's scheduler isn't told of calls that block: there is no other goroutine.
			syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&sleep)), 0, 0)
		}
		for _, each := range []struct {
			number uintptr
			data   []byte
		}{{syscall.SYS_WRITE, out}, {syscall.SYS_READ, in}} {
			n, _, errno := syscall.RawSyscall(each.number, uintptr(fd), uintptr(unsafe.Pointer(&each.data[0])), uintptr(len(each.data)))
			if errno != 0 || n == 0 {
				return 0, fmt.Errorf("the server hung up: %w", errno)
			}
		}
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		return 0, err
	}
	ns := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	return float64(ns) / 1e3 / float64(requests), nil
}
