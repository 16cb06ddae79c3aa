package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

// slot is the place of a connection that several users share.
type slot struct {
	mutex  sync.Mutex
	shared transport.Shared
}

// connect opens a connection, or takes a place on one that is shared, which it opens if there is none.
func (u *user) connect(deadline time.Time) error {
	if u.slot == nil {
		connection, socket, err := u.dial(deadline)
		if err == nil {
			u.connection, u.socket = connection, socket
			u.client.Open(connection)
		}
		return err
	}
	client := u.client.(transport.Multiplexed)
	u.slot.mutex.Lock()
	defer u.slot.mutex.Unlock()
	if u.slot.shared == nil || u.slot.shared.IsSpent() {
		connection, _, err := u.dial(deadline)
		if err != nil {
			return err
		}
		u.slot.shared = client.Share(connection)
	}
	client.Join(u.slot.shared)
	u.connection = client
	return nil
}

// dial opens a connection, and returns also the socket that it is made of. Go sets TCP_NODELAY on it.
func (u *user) dial(deadline time.Time) (net.Conn, *meteredConnection, error) {
	ctx, cancel := context.WithDeadline(u.run.ctx, deadline)
	defer cancel()
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", u.address)
	if err != nil {
		return nil, nil, err
	}
	if !u.run.load.Reopen && (u.socket != nil || u.slot != nil && u.slot.shared != nil) {
		u.run.update(func(f *histogram.Fold) { f.File.Reconnects++ })
	}
	socket, err := newMeteredConnection(u.run, plain)
	if err != nil || u.run.load.TLS == nil {
		return socket, socket, err
	}
	secured, err := transport.Secure(ctx, socket, u.address, u.run.load.TLS)
	return secured, socket, err
}

// meteredConnection makes system calls that Go's scheduler doesn't see, and waits by Go's poller. For each call that the
// scheduler sees, it wakes a thread (sysmon) that looks for calls that block: in a load with pauses between requests, that
// takes as much time as the requests.
type meteredConnection struct {
	net.Conn
	run *run
	raw syscall.RawConn
	// keep has an interrupt of the load no longer close the connection.
	keep func() bool
	// What RawConn calls, kept so that nothing is allocated for a request, and what it works on.
	read, write func(fd uintptr) bool
	look        func(fd uintptr)
	in, out     []byte
	// later is what the next Read writes first.
	later []byte
	count int
	// One of two goroutines may read while the other writes. A request that couldn't be written may have a reply.
	readErrno, writeErrno syscall.Errno
	isHungUp              bool
	// isTended has Read return EAGAIN where it would wait.
	isTended bool
}

func newMeteredConnection(r *run, plain net.Conn) (*meteredConnection, error) {
	connection, err := plain.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	m := &meteredConnection{Conn: plain, run: r, raw: connection}
	m.keep = context.AfterFunc(r.ctx, func() { _ = plain.Close() })
	m.read, m.write = m.readNow, m.writeNow
	m.look = func(fd uintptr) { m.isHungUp = isHungUpRaw(fd) }
	return m, nil
}

// Close closes the connection.
func (m *meteredConnection) Close() error {
	m.keep()
	return m.Conn.Close()
}

// SendLater has the next Read write data first.
func (m *meteredConnection) SendLater(data []byte) { m.later = data }

// readNow reads what is there. After a request nothing is: Go's scheduler, which wasn't told of anything since before the
// write, waits for the reply.
func (m *meteredConnection) readNow(fd uintptr) bool {
	if m.later != nil {
		m.out, m.writeErrno, m.later = m.later, 0, nil
		if isOver := m.writeNow(fd); !isOver || m.writeErrno == 0 {
			return !isOver // Read waits for room, or else RawConn for the reply.
		}
	}
	m.count, m.readErrno = readRaw(fd, m.in)
	return m.readErrno != syscall.EAGAIN
}

func (m *meteredConnection) writeNow(fd uintptr) bool {
	for len(m.out) > 0 {
		var count int
		if count, m.writeErrno = writeRaw(fd, m.out); m.writeErrno != 0 {
			return m.writeErrno != syscall.EAGAIN
		}
		m.out = m.out[count:]
	}
	return true
}

func (m *meteredConnection) Read(into []byte) (int, error) {
	// Nothing else writes on a connection that has something to send later.
	sends := len(m.later)
	m.in, m.readErrno = into, 0
	var err error
	if m.isTended {
		err = m.raw.Control(func(fd uintptr) { m.readNow(fd) })
	} else {
		err = m.raw.Read(m.read)
	}
	if err == nil && sends > 0 && m.writeErrno == syscall.EAGAIN {
		if err = m.raw.Write(m.write); err == nil {
			err = m.raw.Read(m.read)
		}
	}
	if m.in = nil; sends > 0 {
		m.run.sent.Add(int64(sends - len(m.out)))
	}
	switch {
	case err != nil:
		return 0, err
	case m.readErrno != 0:
		err = m.readErrno
	case m.count == 0 && len(into) > 0:
		err = io.EOF
	default:
		m.run.received.Add(int64(m.count))
		return m.count, nil
	}
	if sends > 0 && m.writeErrno != 0 {
		err = errors.Join(err, m.writeErrno)
	}
	return 0, err
}

func (m *meteredConnection) Write(from []byte) (int, error) {
	m.out, m.writeErrno = from, 0
	err := m.raw.Write(m.write)
	count := len(from) - len(m.out)
	m.out = nil
	m.run.sent.Add(int64(count))
	if err == nil && m.writeErrno != 0 {
		err = m.writeErrno
	}
	return count, err
}

// isClosed reports whether the server has closed the connection, without waiting and without reading from it.
func (m *meteredConnection) isClosed() bool { return m.raw.Control(m.look) != nil || m.isHungUp }
