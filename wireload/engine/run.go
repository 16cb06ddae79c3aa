package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/histogram"
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
	users    sync.WaitGroup
	// mismatch is done when the first reply with wrong content was handed on.
	mismatch sync.Once
	// startUnixNS is when requests began to be sent.
	startUnixNS atomic.Int64
}

// Run sends the load and returns what was measured, also after an interrupt by the context. Its errors are those of
// the load itself; a service that fails is part of the result.
func Run(ctx context.Context, load *Load, version string) (histogram.File, error) {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{ctx: inner, cancel: cancel, load: load, clock: newClock(), recorder: newRecorder(load.Measured), slots: newSlots(load)}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var publisher sync.WaitGroup
	if load.Live != nil {
		r.recorder.totals = load.Live.NewTotals(load.ownMax())
		publisher.Go(func() { load.Live.Publish(over, r.recorder.read) })
	}
	var err error
	if load.Due != nil {
		err = r.runOpen()
	} else {
		r.runClosed()
	}
	r.users.Wait()
	for _, each := range r.slots {
		each.close()
		r.recorder.addCounts(&each.counts)
	}
	if cause := context.Cause(inner); cause != nil && ctx.Err() == nil {
		err = cause
	}
	end()
	publisher.Wait()
	if err != nil {
		return histogram.File{}, err
	}
	return r.recorder.report(histogram.Driver{Name: "wireload", Version: version}, r.clock.now())
}

// begin starts the clock of the load.
func (r *run) begin() {
	now := r.clock.now()
	r.startUnixNS.Store(now)
	if r.load.WarmupCalls == 0 {
		r.recorder.open(now)
	}
	r.load.Barrier.begin(r)
}

// endUnixNS returns when the last request is sent.
func (r *run) endUnixNS() int64 { return r.startUnixNS.Load() + int64(r.load.Duration) }

// start has a user do its work on a goroutine of its own.
func (r *run) start(number int, work func(*user)) {
	u := newUser(r, number)
	r.recorder.join()
	r.users.Go(func() {
		off := context.AfterFunc(r.ctx, u.interrupt)
		defer off()
		defer u.end()
		work(u)
	})
}
