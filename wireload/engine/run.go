package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
)

// clock reads the monotonic clock as Unix time: one reading of the machine's clock, where time.Now takes two, and no
// jump when the time is set.
type clock struct {
	start  time.Time
	unixNS int64
}

func newClock() clock {
	now := time.Now()
	return clock{now, now.UnixNano()}
}

func (c clock) now() int64 { return c.unixNS + int64(time.Since(c.start)) }

func (c clock) at(unixNS int64) time.Time { return c.start.Add(time.Duration(unixNS - c.unixNS)) }

// run is one load that is under way.
type run struct {
	ctx      context.Context //nolint:containedctx // It lasts as long as the load.
	cancel   context.CancelCauseFunc
	load     *Load
	clock    clock
	recorder *recorder
	slots    []*slot
	// next returns when a user is to send its next request, with the moment that it was due, or 0; false at the end.
	next    func(*user) (dueUnixNS int64, ok bool)
	users   sync.WaitGroup
	started atomic.Int64
	// begun is closed when requests begin to be sent, at startUnixNS.
	begun       chan struct{}
	startUnixNS int64
}

func newRun(ctx context.Context, load *Load) *run {
	r := &run{load: load, clock: newClock(), recorder: newRecorder(load), slots: newSlots(load), begun: make(chan struct{})}
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
	if load.Due != nil {
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
	for range load.OwnUsers() {
		r.start()
	}
	r.begin()
	r.users.Wait()
	end()
	for _, each := range r.slots {
		each.close()
	}
	close(over)
	publisher.Wait()
	if cause := context.Cause(r.ctx); cause != nil && ctx.Err() == nil {
		return histogram.File{}, cause
	}
	return r.recorder.report(version, r.clock.now()), nil
}

// start has one more user send requests on a goroutine of its own.
func (r *run) start() {
	number := r.load.userNumber(int(r.started.Add(1) - 1))
	u := newUser(r, number)
	u.source = r.load.NewSource(number)
	r.users.Go(func() {
		defer context.AfterFunc(r.ctx, u.interrupt)()
		defer u.close()
		<-r.begun
		if !r.waitToSpawn(number) {
			return
		}
		for due, ok := r.next(u); ok; due, ok = r.next(u) {
			u.perform(due)
		}
	})
}

// begin starts the clock of the load.
func (r *run) begin() {
	r.startUnixNS = r.clock.now()
	if r.load.WarmupCalls == 0 {
		r.recorder.update(func(f *histogram.Fold) { f.Open(r.startUnixNS) })
	}
	over, cancel := context.WithDeadline(r.ctx, r.clock.at(r.endUnixNS()))
	context.AfterFunc(over, cancel)
	r.load.Barrier.users, r.load.Barrier.over = r.load.OwnUsers(), over.Done()
	close(r.begun)
}

// endUnixNS returns when the last request is sent.
func (r *run) endUnixNS() int64 { return r.startUnixNS + int64(r.load.Duration) }

// waitToSpawn waits until it is a user's turn to start; false if the load ends before.
func (r *run) waitToSpawn(number int) bool {
	if r.load.SpawnRatePerS == 0 {
		return true
	}
	turn := r.startUnixNS + int64(float64(number)/r.load.SpawnRatePerS*float64(time.Second))
	return turn < r.endUnixNS() && r.pause(time.Duration(turn-r.clock.now()))
}

// pause returns false if the load is interrupted.
func (r *run) pause(lasts time.Duration) bool {
	select {
	case <-time.After(lasts):
		return true
	case <-r.ctx.Done():
		return false
	}
}

// nextOfClosed has a user send its next request when it has the reply to the one before. In a load by calls, those that
// warm up come first; then all users wait for each other.
func (r *run) nextOfClosed(u *user) (int64, bool) {
	if u.isUnconnected && r.load.DialPause > 0 {
		r.pause(r.load.DialPause) // It would use a whole core otherwise.
	}
	switch calls := r.load.WarmupCalls + r.load.Calls; {
	case u.lastUsed >= r.endUnixNS(), r.ctx.Err() != nil, calls > 0 && u.calls == calls:
		return 0, false
	case u.calls > 0 && u.calls == r.load.WarmupCalls:
		return 0, r.load.Barrier.wait(func() {
			r.recorder.update(func(f *histogram.Fold) { f.Open(r.clock.now()) })
		})
	}
	return 0, true
}

// count returns what live metrics need.
func (r *run) count() (counts live.Counts) {
	r.recorder.update(func(f *histogram.Fold) { counts.Dropped = f.File.DroppedIterations })
	counts.Users, counts.UsersMax = r.started.Load(), int64(r.load.ownMax())
	counts.BytesSent, counts.BytesReceived = r.recorder.sent.Load(), r.recorder.received.Load()
	return counts
}
