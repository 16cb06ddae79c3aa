// Package barrier lets the virtual users of a load wait for each other, and notes when they have warmed up.
package barrier

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Barrier lets users wait until all of them have arrived; after that it can be used again.
type Barrier struct {
	mutex   sync.Mutex
	arrived int
	release chan struct{}
}

// Wait returns when so many users have arrived, or the context is done. The last one to arrive calls
// onAll before any of them goes on.
func (b *Barrier) Wait(ctx context.Context, users int, onAll func()) {
	b.mutex.Lock()
	if b.arrived == 0 {
		b.release = make(chan struct{})
	}
	b.arrived++
	release := b.release
	if b.arrived == users {
		b.arrived = 0
		onAll()
		close(release)
	}
	b.mutex.Unlock()
	select {
	case <-release:
	case <-ctx.Done():
	}
}

// k6 runs one load in a process, so that all its users share one barrier.
var (
	users    Barrier
	warmedUp atomic.Int64
)

// Meet waits for all users of the load.
func Meet(ctx context.Context, count int) { users.Wait(ctx, count, func() {}) }

// FinishWarmup waits for all users of the load, and notes when all were there.
func FinishWarmup(ctx context.Context, count int) {
	users.Wait(ctx, count, func() { warmedUp.Store(time.Now().UnixNano()) })
}

// WarmedUpAt returns when the warm-up ended, in nanoseconds of Unix time; false if it hasn't.
func WarmedUpAt() (int64, bool) {
	at := warmedUp.Load()
	return at, at != 0
}
