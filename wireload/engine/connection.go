package engine

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
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

type meteredConnection struct {
	net.Conn
	counts *userCounts
	raw    syscall.RawConn
	// poll and look are kept so that isClosed doesn't allocate.
	poll [1]unix.PollFd
	look func(fd uintptr)
}

func newMeteredConnection(plain net.Conn, counts *userCounts) (*meteredConnection, error) {
	raw, err := plain.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	m := &meteredConnection{Conn: plain, counts: counts, raw: raw}
	m.look = func(fd uintptr) {
		m.poll[0] = unix.PollFd{Fd: int32(fd), Events: hangUp}
		_, _ = unix.Poll(m.poll[:], 0)
	}
	return m, nil
}

func (m *meteredConnection) Read(into []byte) (int, error) {
	count, err := m.Conn.Read(into)
	m.counts.received += int64(count)
	return count, err
}

func (m *meteredConnection) Write(from []byte) (int, error) {
	count, err := m.Conn.Write(from)
	m.counts.sent += int64(count)
	return count, err
}

// isClosed reports whether the server has closed the connection, without waiting and without reading from it.
func (m *meteredConnection) isClosed() bool {
	return m.raw.Control(m.look) != nil || m.poll[0].Revents != 0
}
