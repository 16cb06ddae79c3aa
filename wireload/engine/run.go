package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/histogram"
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
	r.users.Go(func() {
		defer u.close()
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
