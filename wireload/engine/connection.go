package engine

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
	"wirebench.dev/wireload/raw"
)

// meteredConnection reads and writes without telling Go's scheduler, but waits by it: see package raw.
type meteredConnection struct {
	net.Conn
	recorder *recorder
	raw      syscall.RawConn
	// What RawConn calls, kept so that nothing is allocated for a request, and what it works on.
	read, write func(fd uintptr) bool
	look        func(fd uintptr)
	in, out     []byte
	// later is what the next Read writes first.
	later []byte
	count int
	// One of two goroutines may read while the other writes.
	readErrno, writeErrno syscall.Errno
	poll                  unix.PollFd
	isHungUp              bool
}

func newMeteredConnection(plain net.Conn, recorder *recorder) (*meteredConnection, error) {
	connection, err := plain.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	m := &meteredConnection{Conn: plain, recorder: recorder, raw: connection}
	m.read, m.write = m.readNow, m.writeNow
	m.look = func(fd uintptr) { m.isHungUp = raw.IsHungUp(fd, &m.poll) }
	return m, nil
}

// SendLater has the next Read write data first.
func (m *meteredConnection) SendLater(data []byte) { m.later = data }

// hasFailed reports whether the last request couldn't be written, though there may be a reply.
func (m *meteredConnection) hasFailed() bool { return m.writeErrno != 0 }

// readNow reads what is there. After a request nothing is: Go's scheduler, which wasn't told of anything since before the
// write, waits for the reply.
func (m *meteredConnection) readNow(fd uintptr) bool {
	if m.later != nil {
		m.out, m.writeErrno, m.later = m.later, 0, nil
		isOver := m.writeNow(fd)
		switch {
		case !isOver:
			return true // Read waits for room.
		case m.writeErrno == 0:
			return false
		}
	}
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
	// Nothing else writes on a connection that has something to send later.
	sends := len(m.later)
	m.in, m.readErrno = into, 0
	err := m.raw.Read(m.read)
	if err == nil && sends > 0 && m.writeErrno == syscall.EAGAIN {
		if err = m.raw.Write(m.write); err == nil {
			err = m.raw.Read(m.read)
		}
	}
	if m.in = nil; sends > 0 {
		m.recorder.sent.Add(int64(sends - len(m.out)))
	}
	switch {
	case err != nil:
		return 0, err
	case m.readErrno != 0:
		err = m.readErrno
	case m.count == 0 && len(into) > 0:
		err = io.EOF
	}
	if err != nil && sends > 0 && m.hasFailed() {
		err = errors.Join(err, m.writeErrno)
	}
	if err != nil {
		return 0, err
	}
	m.recorder.received.Add(int64(m.count))
	return m.count, nil
}

func (m *meteredConnection) Write(from []byte) (int, error) {
	m.out, m.writeErrno = from, 0
	err := m.raw.Write(m.write)
	count := len(from) - len(m.out)
	m.out = nil
	m.recorder.sent.Add(int64(count))
	if err == nil && m.writeErrno != 0 {
		err = m.writeErrno
	}
	return count, err
}

// isClosed reports whether the server has closed the connection, without waiting and without reading from it.
func (m *meteredConnection) isClosed() bool { return m.raw.Control(m.look) != nil || m.isHungUp }
