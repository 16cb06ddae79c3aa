package engine

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
	"wirebench.dev/wireload/raw"
)

// meteredConnection reads and writes without telling Go's scheduler, but waits by it: see package raw.
type meteredConnection struct {
	net.Conn
	counts *counts
	raw    syscall.RawConn
	// What RawConn calls, kept so that nothing is allocated for a request, and what it works on.
	read, write func(fd uintptr) bool
	look        func(fd uintptr)
	in, out     []byte
	count       int
	// One of two goroutines may read while the other writes.
	readErrno, writeErrno syscall.Errno
	poll                  unix.PollFd
	isHungUp              bool
}

func newMeteredConnection(plain net.Conn, counts *counts) (*meteredConnection, error) {
	connection, err := plain.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	m := &meteredConnection{Conn: plain, counts: counts, raw: connection}
	m.read, m.write = m.readNow, m.writeNow
	m.look = func(fd uintptr) { m.isHungUp = raw.IsHungUp(fd, &m.poll) }
	return m, nil
}

func (m *meteredConnection) readNow(fd uintptr) bool {
	m.count, m.readErrno = raw.Read(fd, m.in)
	return m.readErrno != syscall.EAGAIN
}

func (m *meteredConnection) writeNow(fd uintptr) bool {
	for len(m.out) > 0 {
		var count int
		if count, m.writeErrno = raw.Write(fd, m.out); m.writeErrno != 0 {
			return m.writeErrno != syscall.EAGAIN
		}
		m.out = m.out[count:]
	}
	return true
}

func (m *meteredConnection) Read(into []byte) (int, error) {
	m.in, m.readErrno = into, 0
	err := m.raw.Read(m.read)
	m.in = nil
	switch {
	case err != nil:
		return 0, err
	case m.readErrno != 0:
		return 0, m.readErrno
	case m.count == 0 && len(into) > 0:
		return 0, io.EOF
	}
	m.counts.received.Add(int64(m.count))
	return m.count, nil
}

func (m *meteredConnection) Write(from []byte) (int, error) {
	m.out, m.writeErrno = from, 0
	err := m.raw.Write(m.write)
	count := len(from) - len(m.out)
	m.out = nil
	m.counts.sent.Add(int64(count))
	if err == nil && m.writeErrno != 0 {
		err = m.writeErrno
	}
	return count, err
}

// isClosed reports whether the server has closed the connection, without waiting and without reading from it.
func (m *meteredConnection) isClosed() bool { return m.raw.Control(m.look) != nil || m.isHungUp }
