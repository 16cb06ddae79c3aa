package engine

import (
	"context"

	"wirebench.dev/wireload/barrier"
)

// Meeting lets the users of a load wait for each other: after a warm-up by calls, and between phases.
type Meeting struct {
	barrier barrier.Barrier
	users   int
	// over ends all waiting with the load: a user that has no time left comes to no meeting.
	over context.Context //nolint:containedctx // It lasts as long as the load.
}

func (m *Meeting) begin(r *run) {
	m.users = r.load.OwnUsers()
	over, cancel := context.WithDeadline(r.ctx, r.clock.at(r.endUnixNS()))
	context.AfterFunc(over, cancel)
	m.over = over
}

// Wait returns when all users wait.
func (m *Meeting) Wait() { m.wait(func() {}) }

func (m *Meeting) wait(onAll func()) { m.barrier.Wait(m.over, m.users, onAll) }
