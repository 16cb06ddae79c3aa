package arrivals

import (
	"context"
	"sync"

	"go.k6.io/k6/lib"
)

// user is a VU, the arrival that it runs, and the next one.
type user struct {
	vu      lib.ActiveVU
	current arrival
	next    chan arrival
}

// pool has all VUs of a scenario. Those that are free are in the order in which they became so.
type pool struct {
	all  []*user
	free chan *user
	// VUs that are still running, and those that aren't returned to k6 yet.
	running, active sync.WaitGroup
}

// start has a VU wait for arrivals, and run each.
func (p *pool) start(ctx context.Context, vu *user, run func(context.Context, *user)) {
	p.all = append(p.all, vu)
	p.free <- vu
	p.running.Go(func() {
		for vu.current = range vu.next {
			run(ctx, vu)
			p.free <- vu
		}
	})
}

// stop waits until all VUs have finished their iterations, and returns them to k6, which cancel causes.
func (p *pool) stop(cancel func()) {
	for _, each := range p.all {
		close(each.next)
	}
	p.running.Wait()
	cancel()
	p.active.Wait()
}
