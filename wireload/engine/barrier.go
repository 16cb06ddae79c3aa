package engine

import (
	"context"
	"sync"
)

// Barrier lets the users of a load wait for each other: after a warm-up by calls, and between phases. After all have
// arrived it can be used again.
type Barrier struct {
	users int
	// over ends all waiting with the load: a user that has no time left no longer arrives.
	over context.Context //nolint:containedctx // It lasts as long as the load.

	mutex   sync.Mutex
	arrived int
	release chan struct{}
}

func (b *Barrier) begin(r *run) {
	b.users = r.load.OwnUsers()
	over, cancel := context.WithDeadline(r.ctx, r.clock.at(r.endUnixNS()))
	context.AfterFunc(over, cancel)
	b.over = over
}

// Wait returns when all users have called it.
func (b *Barrier) Wait() { b.wait(func() {}) }

// wait has the last user to arrive call onAll before any of them continues.
func (b *Barrier) wait(onAll func()) {
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
	case <-b.over.Done():
	}
}
