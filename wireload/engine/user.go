package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// A request that may be sent again is sent so often at most.
const attemptsMax = 3

// user sends one request at a time.
type user struct {
	run     *run
	address string
	client  transport.Client
	source  request.Source
	request request.Request
	stream  stream
	// calls is how many requests have ended.
	calls int

	// slot has the connection that the user shares; nil if it has one of its own.
	slot *slot
	// mutex guards the connection against an interrupt, which closes it.
	mutex      sync.Mutex
	connection link
	// socket is what the user's own connection is made of, and lastUsed when it had its last reply.
	socket   *meteredConnection
	lastUsed int64
	// deadline is what the connection has now.
	deadline int64
	// kept says that the connection has had a reply; isUnconnected, that it couldn't be opened.
	kept, isUnconnected bool
}

// link is a net.Conn of the user's own, or its place on one that is shared.
type link interface {
	SetDeadline(at time.Time) error
}

func newUser(r *run, number int) *user {
	u := &user{run: r, address: r.load.Addresses[number%len(r.load.Addresses)]}
	if len(r.slots) > 0 {
		u.slot = r.slots[number/r.load.Generators%len(r.slots)]
		u.address = u.slot.address
	}
	u.client = r.load.NewClient(u.address)
	return u
}

// perform sends a request, which was due at this moment, or never if it is 0, and records how it ended.
func (u *user) perform(due int64) {
	u.source.Next(&u.request)
	if u.request.Stream && due != 0 && u.run.clock.now() >= u.run.endUnixNS() {
		u.run.recorder.drop() // It would be cancelled before it is sent.
		return
	}
	sent, err := u.prepare()
	if err != nil {
		u.run.cancel(err) // The load ends: a request can't be made.
		return
	}
	var reply transport.Reply
	if u.request.Stream {
		reply, err = u.readStream(sent, due, u.run.endUnixNS()+int64(overtime))
	} else {
		reply, err = u.send(sent, nil)
	}
	u.lastUsed = u.run.clock.now()
	switch {
	case err != nil && u.run.ctx.Err() != nil: // Interrupted.
	case errors.Is(err, transport.ErrStopped):
		u.run.recorder.update(func(f *histogram.Fold) { f.AddCancelled(u.request.Operation) })
		u.close()
	default:
		took := histogram.Request{EndUnixNS: u.lastUsed, ServiceNS: u.lastUsed - sent, DueUnixNS: due}
		u.run.recorder.add(u.request.Operation, took, reply, err)
		u.checkNth(reply, err)
		u.calls++
		u.settle(reply, err)
	}
}

// prepare encodes the request, and returns when it begins to be sent. A connection that the server has closed while
// nothing was sent on it is dropped, as other clients do: a request that can't be sent twice would fail. One in steady use
// isn't looked at.
func (u *user) prepare() (sent int64, err error) {
	const idle = 10 * time.Millisecond
	err = u.client.Prepare(&u.request)
	sent = u.run.clock.now()
	if u.socket != nil && u.connection != nil && sent-u.lastUsed > int64(idle) && u.socket.isClosed() {
		u.close()
	}
	return sent, err
}

// isNth says whether the content of this request's reply is to be checked.
func (u *user) isNth() bool {
	every := u.run.load.CheckEvery
	return every > 0 && (u.calls+1)%every == 0
}

func (u *user) checkNth(reply transport.Reply, err error) {
	if err != nil || reply.Code != histogram.OK || !u.isNth() {
		return
	}
	if wrong := u.check(reply); wrong != nil && u.run.recorder.addMismatch() == 1 {
		u.run.load.OnMismatch(fmt.Errorf("%s: %w", u.request.Operation, wrong))
	}
}

// settle does what comes after a reply, whether it is part of a load or not.
func (u *user) settle(reply transport.Reply, err error) {
	u.source.Settle(err == nil && reply.Code == histogram.OK)
	if err != nil || reply.Close || u.run.load.Reopen || u.socket != nil && u.socket.hasFailed() {
		u.close()
	}
}

func (u *user) check(reply transport.Reply) error {
	if reply.Status != u.request.Status && u.request.Status != 0 {
		return fmt.Errorf("HTTP status %d in place of %d", reply.Status, u.request.Status)
	}
	if u.request.Stream {
		return u.source.CheckStream(&u.request, u.stream.first, u.stream.last, u.stream.count)
	}
	content, err := reply.Content()
	if err != nil {
		return err
	}
	return u.source.Check(&u.request, content)
}

// send sends what is prepared, again if it provably wasn't processed, or may be processed twice and met a kept
// connection that the server had closed.
func (u *user) send(sent int64, item func([]byte) bool) (transport.Reply, error) {
	for attempt := 1; ; attempt++ {
		reply, err := u.attempt(sent, item)
		failure := transport.AsFailure(err)
		if failure == nil || attempt == attemptsMax || !u.maySendAgain(failure) {
			u.kept = err == nil
			return reply, err
		}
		u.close()
		if err := u.client.Prepare(&u.request); err != nil {
			return reply, err
		}
		u.run.recorder.update(func(f *histogram.Fold) { f.File.Retried++ })
	}
}

func (u *user) maySendAgain(failure *transport.Failure) bool {
	return failure.Unprocessed || failure.Unanswered && u.kept && u.request.Idempotent
}

func (u *user) attempt(sent int64, item func([]byte) bool) (transport.Reply, error) {
	timeout := int64(u.run.load.Timeout)
	deadline := sent + timeout
	if u.request.Stream {
		deadline = min(deadline, u.stream.until)
	}
	if u.connection == nil {
		err := u.connect(u.run.clock.at(deadline))
		if u.isUnconnected = err != nil; u.isUnconnected {
			return transport.Reply{}, transport.FailedConnect(err)
		}
		u.deadline = 0
	}
	// Timers take as long as all else that Go does for a request: one that rings a hundredth later does for many.
	if u.request.Stream {
		u.deadline = deadline
	} else if u.deadline < deadline || u.deadline > deadline+timeout/100 {
		u.deadline = deadline + timeout/100
	} else {
		return u.client.Call(item)
	}
	if err := u.connection.SetDeadline(u.run.clock.at(u.deadline)); err != nil {
		return transport.Reply{}, transport.FailedCall(err, false)
	}
	return u.client.Call(item)
}

// dial opens a connection, and returns also the socket that it is made of. Go sets TCP_NODELAY on it.
func (u *user) dial(deadline time.Time) (net.Conn, *meteredConnection, error) {
	ctx, cancel := context.WithDeadline(u.run.ctx, deadline)
	defer cancel()
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", u.address)
	if err != nil {
		return nil, nil, err
	}
	socket, err := newMeteredConnection(plain, u.run.recorder)
	if err != nil || u.run.load.TLS == nil {
		return socket, socket, err
	}
	secured, err := transport.Secure(ctx, socket, u.address, u.run.load.TLS)
	return secured, socket, err
}

// connect opens a connection, or takes a place on one that is shared.
func (u *user) connect(deadline time.Time) error {
	if u.slot != nil {
		client := u.client.(transport.Multiplexed)
		err := u.slot.join(u, client, deadline)
		if err == nil {
			u.connection, u.kept = client, false
		}
		return err
	}
	connection, socket, err := u.dial(deadline)
	if err != nil {
		return err
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.run.ctx.Err() != nil {
		_ = connection.Close()
		return u.run.ctx.Err()
	}
	u.connection, u.socket, u.kept = connection, socket, false
	u.client.Open(connection)
	return nil
}

func (u *user) close() {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if own, ok := u.connection.(net.Conn); ok {
		_ = own.Close()
	}
	u.connection = nil
}

// interrupt ends a call that is under way. It closes the socket: TLS's Close would write its close_notify first, while
// the user may be writing.
func (u *user) interrupt() {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	switch {
	case u.slot != nil:
		u.slot.close()
	case u.connection != nil:
		_ = u.socket.Close()
	}
}
