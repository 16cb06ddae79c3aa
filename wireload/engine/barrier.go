package engine

import (
	"context"

	"wirebench.dev/wireload/barrier"
)

// Barrier lets the users of a load wait for each other: after a warm-up by calls, and between phases.
type Barrier struct {
	barrier barrier.Barrier
	users   int
	// over ends all waiting with the load: a user that has no time left no longer arrives.
	over context.Context //nolint:containedctx // It lasts as long as the load.
}

func (b *Barrier) begin(r *run) {
	b.users = r.load.OwnUsers()
	over, cancel := context.WithDeadline(r.ctx, r.clock.at(r.endUnixNS()))
	context.AfterFunc(over, cancel)
	b.over = over
}

// Wait returns when all users have called it.
func (b *Barrier) Wait() { b.wait(func() {}) }

func (b *Barrier) wait(onAll func()) { b.barrier.Wait(b.over, b.users, onAll) }
