package engine

import (
	"context"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
	"wirebench.dev/wireload/raw"
)

// meteredDialer opens TCP connections whose bytes are counted.
type meteredDialer struct {
	counts *userCounts
	// opened is the last one.
	opened *meteredConnection
}

// DialContext opens a connection.
func (d *meteredDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var plain net.Dialer
	connection, err := plain.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.opened, err = newMeteredConnection(connection, d.counts)
	return d.opened, err
}

// meteredConnection reads and writes without telling Go's scheduler, but waits by it: see package raw.
type meteredConnection struct {
	net.Conn
	counts *userCounts
	raw    syscall.RawConn
	// What RawConn calls, kept so that nothing is allocated for a request, and what it works on.
	read, write func(fd uintptr) bool
	look        func(fd uintptr)
	in, out     []byte
	count       int
	errno       syscall.Errno
	poll        unix.PollFd
	isHungUp    bool
}

func newMeteredConnection(plain net.Conn, counts *userCounts) (*meteredConnection, error) {
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
	m.count, m.errno = raw.Read(fd, m.in)
	return m.errno != syscall.EAGAIN
}

func (m *meteredConnection) writeNow(fd uintptr) bool {
	for len(m.out) > 0 {
		var count int
		if count, m.errno = raw.Write(fd, m.out); m.errno != 0 {
			return m.errno != syscall.EAGAIN
		}
		m.out = m.out[count:]
	}
	return true
}

func (m *meteredConnection) Read(into []byte) (int, error) {
	m.in, m.errno = into, 0
	err := m.raw.Read(m.read)
	m.in = nil
	switch {
	case err != nil:
		return 0, err
	case m.errno != 0:
		return 0, m.errno
	case m.count == 0 && len(into) > 0:
		return 0, io.EOF
	}
	m.counts.received += int64(m.count)
	return m.count, nil
}

func (m *meteredConnection) Write(from []byte) (int, error) {
	m.out, m.errno = from, 0
	err := m.raw.Write(m.write)
	count := len(from) - len(m.out)
	m.out = nil
	m.counts.sent += int64(count)
	if err == nil && m.errno != 0 {
		err = m.errno
	}
	return count, err
}

// isClosed reports whether the server has closed the connection, without waiting and without reading from it.
func (m *meteredConnection) isClosed() bool { return m.raw.Control(m.look) != nil || m.isHungUp }
