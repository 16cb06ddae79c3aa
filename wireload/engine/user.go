package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/variable"
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
	// calls is how many requests have ended; isChecked, whether the reply of this one is looked at.
	calls     int
	isChecked bool

	// slot has the connection that the user shares; nil if it has one of its own.
	slot *slot
	// connection is a net.Conn of the user's own, or its place on one that is shared.
	connection interface{ SetDeadline(at time.Time) error }
	// socket is what the user's own connection is made of, and lastUsed when it had its last reply.
	socket   *meteredConnection
	lastUsed int64
	// deadline is what the connection has now.
	deadline int64
	// busy is held while the user sends a request, or its idle connection is tended.
	busy sync.Mutex
	// kept says that the connection has had a reply; isUnconnected, that it couldn't be opened.
	kept, isUnconnected bool
}

func newUser(r *run, number int) *user {
	u := &user{run: r, address: r.load.Addresses[number%len(r.load.Addresses)]}
	if len(r.slots) > 0 {
		place := number % len(r.slots)
		u.slot, u.address = &r.slots[place], r.load.Addresses[place%len(r.load.Addresses)]
	}
	u.client = r.load.NewClient(u.address)
	return u
}

// perform sends a request, which was due at this moment, or never if it is 0, and records how it ended.
func (u *user) perform(due int64) (reply transport.Reply, err error) {
	u.busy.Lock()
	defer u.busy.Unlock()
	u.source.Next(&u.request)
	if u.request.Stream && due != 0 && u.run.now() >= u.run.endUnixNS() {
		u.run.drop() // It would be cancelled before it is sent.
		return reply, nil
	}
	sent, err := u.prepare()
	if err != nil {
		u.run.cancel(err) // The load ends: a request can't be made.
		return reply, err
	}
	every := u.run.load.CheckEvery
	u.isChecked = every > 0 && (u.calls+1)%every == 0
	if u.request.Stream {
		reply, err = u.readStream(sent, due)
	} else {
		reply, err = u.send(sent, nil)
	}
	u.lastUsed = u.run.now()
	reply.Message = variable.Clean(reply.Message)
	switch {
	case err != nil && u.run.ctx.Err() != nil: // Interrupted.
	case errors.Is(err, transport.ErrStopped):
		u.run.update(func(f *histogram.Fold) { f.Streams(u.request.Operation).Cancelled++ })
		u.close()
	default:
		took := histogram.Request{EndUnixNS: u.lastUsed, ServiceNS: u.lastUsed - sent, DueUnixNS: due}
		u.run.record(u.request.Operation, took, reply, err)
		u.finish(reply, err)
	}
	return reply, err
}

// tend answers the server on an idle connection: a server closes one that doesn't answer. It looks within a millisecond for
// each user, 250 ms at least and 10 s at most, and at another moment for each: at the same one requests would wait.
func (u *user) tend(client interface{ Tend() }) {
	for sleep(u.run.ctx, time.Duration(min(max(250, u.run.started.Load()), 10_000))*(time.Millisecond-rand.N(time.Millisecond/2))) {
		if u.busy.TryLock() {
			if u.connection != nil {
				u.socket.isTended = true
				client.Tend()
				u.socket.isTended = false
			}
			u.busy.Unlock()
		}
	}
}

// prepare encodes the request, and returns when it begins to be sent. A connection that the server has closed while
// nothing was sent on it is dropped, as other clients do: a request that can't be sent twice would fail. One in steady use
// isn't looked at.
func (u *user) prepare() (sent int64, err error) {
	const idle = 10 * time.Millisecond
	err = u.client.Prepare(&u.request)
	sent = u.run.now()
	if u.socket != nil && u.connection != nil && sent-u.lastUsed > int64(idle) && u.socket.isClosed() {
		u.close()
	}
	return sent, err
}

// finish does what comes after the clock.
func (u *user) finish(reply transport.Reply, err error) {
	u.calls++
	isOK := err == nil && reply.Code == histogram.OK
	if isOK && u.isChecked {
		if wrong := u.check(reply); wrong != nil {
			u.run.update(func(f *histogram.Fold) { f.File.Mismatches++ })
			u.run.load.OnMismatch(u.request.Operation, errors.New(variable.Clean(wrong.Error())))
		}
	}
	u.source.Settle(isOK)
	if err != nil || reply.Close || u.run.load.Reopen || u.socket != nil && u.socket.writeErrno != 0 {
		u.close()
	}
}

func (u *user) check(reply transport.Reply) error {
	if reply.Status != u.request.Status && u.request.Status != 0 {
		return fmt.Errorf("HTTP status %d in place of %d", reply.Status, u.request.Status)
	}
	switch s := &u.stream; {
	case u.request.Stream && u.request.Items > 0 && u.request.Items != s.count:
		return fmt.Errorf("%s: %d items, not %d", u.request.Operation, s.count, u.request.Items)
	case u.request.Stream && s.count == 0:
		return nil
	case u.request.Stream:
		return cmp.Or(u.source.Check(&u.request, s.first), u.source.Check(&u.request, s.last))
	}
	return u.source.Check(&u.request, reply.Body)
}

// send sends what is prepared, again if it provably wasn't processed, or if an HTTP/1.1 request may be processed twice and
// met a kept connection that the server had closed.
func (u *user) send(sent int64, item func([]byte) bool) (transport.Reply, error) {
	isIdempotent := u.request.Method != "POST" && u.request.Method != "PATCH" // RFC 9110, 9.2.2
	for attempt := 1; ; attempt++ {
		reply, err := u.attempt(sent, item)
		failure := transport.AsFailure(err)
		maySendAgain := failure != nil && (failure.Unprocessed || failure.Unanswered && u.kept && isIdempotent)
		if !maySendAgain || failure.Class == transport.Timeout || attempt == attemptsMax {
			u.kept = err == nil
			return reply, err
		}
		u.close()
		if err := u.client.Prepare(&u.request); err != nil {
			return reply, err
		}
		u.run.update(func(f *histogram.Fold) { f.File.Retried++ })
	}
}

func (u *user) attempt(sent int64, item func([]byte) bool) (transport.Reply, error) {
	timeout := int64(u.run.load.Timeout)
	deadline := sent + timeout
	if u.request.Stream {
		deadline = min(deadline, u.stream.until)
	}
	if u.connection == nil {
		err := u.connect(u.run.at(deadline))
		if u.isUnconnected = err != nil; u.isUnconnected {
			return transport.Reply{}, transport.FailedConnect(err)
		}
		u.deadline, u.kept = 0, false
	}
	// Timers take as long as all else that Go does for a request: one that rings a hundredth later does for many.
	if u.request.Stream {
		u.deadline = deadline
	} else if u.deadline < deadline || u.deadline > deadline+timeout/100 {
		u.deadline = deadline + timeout/100
	} else {
		return u.client.Call(item)
	}
	if err := u.connection.SetDeadline(u.run.at(u.deadline)); err != nil {
		return transport.Reply{}, transport.FailedCall(err, false)
	}
	return u.client.Call(item)
}

func (u *user) close() {
	if own, ok := u.connection.(net.Conn); ok {
		_ = own.Close()
	}
	u.connection = nil
}
