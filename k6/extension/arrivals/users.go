package arrivals

import (
	"context"
	"sync"

	"go.k6.io/k6/lib"
)

// user is a VU, the arrival that it is at work on, and the one that it is to take next.
type user struct {
	vu      lib.ActiveVU
	current arrival
	next    chan arrival
}

// crew is all users of a scenario: those that are free, in the order in which they became so.
type crew struct {
	all  []*user
	free chan *user
	// Those that haven't been told to go home, and those that k6 hasn't back yet.
	working, active sync.WaitGroup
}

// hire has a user wait for arrivals, and run each.
func (c *crew) hire(ctx context.Context, hired *user, run func(context.Context, *user)) {
	c.all = append(c.all, hired)
	c.free <- hired
	c.working.Go(func() {
		for hired.current = range hired.next {
			run(ctx, hired)
			c.free <- hired
		}
	})
}

// dismiss waits until all users have finished what they are at, and then, with stop, gives them back.
func (c *crew) dismiss(stop func()) {
	for _, each := range c.all {
		close(each.next)
	}
	c.working.Wait()
	stop()
	c.active.Wait()
}
