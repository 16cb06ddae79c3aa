package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listenStamped listens on an address whose connections' bytes get a timestamp from the kernel when they arrive.
// Connections inherit that from the listener, so that no first request comes too early for it.
func listenStamped(address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		})
		return errors.Join(err, os.NewSyscallError("setsockopt", failed))
	}}
	return config.Listen(context.Background(), "tcp", address)
}

// stampedReader knows when the kernel received the last of the bytes that it read: the time that they waited in the
// socket for the goroutine is part of a request's latency, as it is for the client.
type stampedReader struct {
	raw syscall.RawConn
	// Unix ns, of the bytes read last; where the kernel gave no timestamp, when they were read.
	arrived   int64
	isStamped bool

	receive func(fd uintptr) bool
	buffer  []byte
	control [64]byte
	n, oobn int
	err     error
}

func newStampedReader(tcp *net.TCPConn) (*stampedReader, error) {
	raw, err := tcp.SyscallConn()
	r := &stampedReader{raw: raw}
	// Made once: a closure for each read would be an allocation.
	r.receive = func(fd uintptr) bool {
		r.n, r.oobn, _, _, r.err = unix.Recvmsg(int(fd), r.buffer, r.control[:], 0)
		return r.err != unix.EAGAIN
	}
	return r, err
}

func (r *stampedReader) Read(buffer []byte) (int, error) {
	r.buffer = buffer
	if err := r.raw.Read(r.receive); err != nil {
		return 0, err
	}
	switch {
	case r.err == unix.ECONNRESET || r.err == nil && r.n == 0:
		return 0, io.EOF // either way the client has gone
	case r.err != nil:
		return 0, os.NewSyscallError("recvmsg", r.err)
	}
	r.arrived, r.isStamped = timestampIn(r.control[:r.oobn])
	if !r.isStamped {
		r.arrived = time.Now().UnixNano()
	}
	return r.n, nil
}

// timestampIn returns the kernel's timestamp among a read's control messages, if there is one: the only one asked for.
func timestampIn(control []byte) (int64, bool) {
	if len(control) == 0 {
		return 0, false
	}
	header, data, _, err := unix.ParseOneSocketControlMessage(control)
	if err != nil || header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_TIMESTAMPNS || len(data) < 16 {
		return 0, false
	}
	seconds, ns := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
	return int64(seconds)*int64(time.Second) + int64(ns), true
}

// timer wakes a goroutine within tens of microseconds: a timerfd has no slack, where Go's timers are rounded to the
// milliseconds of epoll_wait. It takes an open file once it has waited: a server that answers at once has none of them.
type timer struct {
	fd   int
	file *os.File
}

func (t *timer) open() error {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	// As it doesn't block, it is the poller that waits for it, and no thread.
	t.fd, t.file = fd, os.NewFile(uintptr(fd), "timer")
	return nil
}

func (t *timer) wait(duration time.Duration) error {
	if duration <= 0 {
		return nil
	}
	if t.file == nil {
		if err := t.open(); err != nil {
			return err
		}
	}
	alarm := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(duration))}
	if err := unix.TimerfdSettime(t.fd, 0, &alarm, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	return err
}

// close may be called on a timer that never waited.
func (t *timer) close() { _ = t.file.Close() }
