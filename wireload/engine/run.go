package engine

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
	"wirebench.dev/wireload/transport"
)

// dialPause is what a user of a closed load waits after a connection that couldn't be opened: it would use a whole core.
const dialPause = 10 * time.Millisecond

// run is one load that is under way.
type run struct {
	ctx    context.Context //nolint:containedctx // It lasts as long as the load.
	cancel context.CancelCauseFunc
	load   *Load
	// origin is where clocks begin.
	origin time.Time
	mutex  sync.Mutex
	fold   *histogram.Fold
	// sent and received are bytes of all connections.
	sent, received atomic.Int64
	// slots are the connections that users share; none if each has its own.
	slots []slot
	// next returns when a user is to send its next request, with the moment that it was due, or 0; false at the end.
	next    func(*user) (dueUnixNS int64, ok bool)
	users   sync.WaitGroup
	started atomic.Int64
	// begun is closed when requests begin to be sent, at startUnixNS.
	begun       chan struct{}
	startUnixNS int64
}

func newRun(ctx context.Context, load *Load) *run {
	load.UsersMax = max(load.UsersMax, load.Users)
	r := &run{load: load, origin: time.Now(), fold: histogram.NewFold(load.Measured), begun: make(chan struct{})}
	r.slots = make([]slot, load.Connections)
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.next = r.nextOfClosed
	return r
}

// Run sends the load and returns what was measured, also after an interrupt by the context. Its errors are those of
// the load itself; a service that fails is part of the result.
func Run(ctx context.Context, load *Load, version string) (histogram.File, error) {
	shortenSlices()
	r := newRun(ctx, load)
	defer r.cancel(nil)
	end := func() {}
	if load.RatePerS > 0 || load.Arrivals != nil {
		open, err := newArrivals(r)
		if err != nil {
			return histogram.File{}, err
		}
		r.next, end = open.next, open.end
	}
	over := make(chan struct{})
	var publisher sync.WaitGroup
	if load.Live != nil {
		publisher.Go(func() { load.Live.Publish(over, r.count) })
	}
	for range load.Users {
		r.start()
	}
	r.begin()
	r.users.Wait()
	end()
	close(over)
	publisher.Wait()
	if cause := context.Cause(r.ctx); cause != nil && ctx.Err() == nil {
		return histogram.File{}, cause
	}
	r.fold.File.BytesSent, r.fold.File.BytesReceived = r.sent.Load(), r.received.Load()
	return r.fold.Report(histogram.Driver{Name: "wireload", Version: version}, r.now()), nil
}

// now reads the monotonic clock as Unix time: one reading of the machine's clock, where time.Now takes two, and no jump
// when the time is set.
func (r *run) now() int64 { return r.origin.UnixNano() + int64(time.Since(r.origin)) }

func (r *run) at(unixNS int64) time.Time {
	return r.origin.Add(time.Duration(unixNS - r.origin.UnixNano()))
}

// start has one more user send requests on a goroutine of its own.
func (r *run) start() {
	number := int(r.started.Add(1) - 1)
	u := newUser(r, number)
	u.source = r.load.NewSource(number)
	if tended, isTended := u.client.(interface{ Tend() }); isTended && u.slot == nil && (r.load.RatePerS > 0 || r.load.Arrivals != nil) {
		go u.tend(tended)
	}
	r.users.Go(func() {
		defer u.close()
		defer u.busy.Lock() // It is tended no more.
		<-r.begun
		if r.load.SpawnRatePerS > 0 {
			turn := r.startUnixNS + int64(float64(number)/r.load.SpawnRatePerS*float64(time.Second))
			if turn >= r.endUnixNS() || !sleep(r.ctx, time.Duration(turn-r.now())) {
				return
			}
		}
		for due, ok := r.next(u); ok; due, ok = r.next(u) {
			u.perform(due)
		}
	})
}

// begin starts the clock of the load.
func (r *run) begin() {
	r.startUnixNS = r.now()
	if r.load.WarmupCalls == 0 {
		r.update(func(f *histogram.Fold) { f.Open(r.startUnixNS) })
	}
	over, cancel := context.WithDeadline(r.ctx, r.at(r.endUnixNS()))
	context.AfterFunc(over, cancel)
	r.load.Barrier.users, r.load.Barrier.over = r.load.Users, over.Done()
	close(r.begun)
}

// endUnixNS returns when the last request is sent.
func (r *run) endUnixNS() int64 { return r.startUnixNS + int64(r.load.Duration) }

// sleep returns false if the context is done before.
func sleep(ctx context.Context, lasts time.Duration) bool {
	select {
	case <-time.After(lasts):
		return true
	case <-ctx.Done():
		return false
	}
}

// nextOfClosed has a user send its next request when it has the reply to the one before. In a load by calls, those that
// warm up come first; then all users wait for each other.
func (r *run) nextOfClosed(u *user) (int64, bool) {
	if u.isUnconnected {
		sleep(r.ctx, dialPause)
	}
	switch calls := r.load.WarmupCalls + r.load.Calls; {
	case u.lastUsed >= r.endUnixNS(), r.ctx.Err() != nil, calls > 0 && u.calls == calls:
		return 0, false
	case u.calls > 0 && u.calls == r.load.WarmupCalls:
		return 0, r.load.Barrier.wait(func() {
			r.update(func(f *histogram.Fold) { f.Open(r.now()) })
		})
	}
	return 0, true
}

// Failures have the code Unavailable, except for these.
var codes = map[transport.Class]histogram.Code{
	transport.Timeout: histogram.DeadlineExceeded, transport.Garbage: histogram.Internal,
}

// update lends the fold out. One lock for all users is enough: it is held for some hundred nanoseconds a request, after
// the request's clock has stopped.
func (r *run) update(change func(*histogram.Fold)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change(r.fold)
}

// record records a request and how it ended.
func (r *run) record(operation string, took histogram.Request, reply transport.Reply, err error) {
	code, message := reply.Code, reply.Message
	failure := transport.AsFailure(err)
	if failure != nil {
		code, message = cmp.Or(codes[failure.Class], histogram.Unavailable), failure.Message
	}
	key := histogram.Key{Operation: operation, Code: code}
	if r.load.Live != nil {
		r.load.Live.Add(key, took.ServiceNS)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.Add(key, took)
	if code != histogram.OK {
		r.fold.AddReason(code, message)
	}
	if failure != nil {
		r.fold.File.ErrorClasses[string(failure.Class)]++
	}
}

// drop counts a request that was due and never sent.
func (r *run) drop() { r.update(func(f *histogram.Fold) { f.File.DroppedIterations++ }) }

// count returns what live metrics need besides the requests.
func (r *run) count() (counts live.Counts) {
	r.update(func(f *histogram.Fold) { counts.Dropped = f.File.DroppedIterations })
	counts.Users, counts.UsersMax = r.started.Load(), int64(r.load.UsersMax)
	counts.BytesSent, counts.BytesReceived = r.sent.Load(), r.received.Load()
	return counts
}

// Barrier lets the users of a load wait for each other: after a warm-up by calls, and between phases. After all have
// arrived it can be used again.
type Barrier struct {
	users int
	// over ends all waiting with the load: a user that has no time left no longer arrives.
	over <-chan struct{}

	mutex   sync.Mutex
	arrived int
	release chan struct{}
}

// Wait returns when all users have called it.
func (b *Barrier) Wait() { b.wait(func() {}) }

// wait has the last user to arrive call onAll before any of them continues. It returns false if the load is over.
func (b *Barrier) wait(onAll func()) bool {
	b.mutex.Lock()
	if b.arrived == 0 {
		b.release = make(chan struct{})
	}
	b.arrived++
	release := b.release
	if b.arrived == b.users {
		b.arrived = 0
		onAll()
		close(release)
	}
	b.mutex.Unlock()
	select {
	case <-release:
		return true
	case <-b.over:
		return false
	}
}
