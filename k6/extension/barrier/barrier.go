// Package barrier lets the virtual users of a load wait for each other, and notes when they have warmed up.
package barrier

import (
	"context"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/barrier"
)

// k6 runs one load in a process, so that all its users share one barrier.
var (
	users    barrier.Barrier
	warmedUp atomic.Int64
)

// Wait waits for all users of the load.
func Wait(ctx context.Context, count int) { users.Wait(ctx, count, func() {}) }

// FinishWarmup waits for all users of the load, and notes when all were there.
func FinishWarmup(ctx context.Context, count int) {
	users.Wait(ctx, count, func() { warmedUp.Store(time.Now().UnixNano()) })
}

// WarmedUpAt returns when the warm-up ended, in nanoseconds of Unix time; false if it hasn't.
func WarmedUpAt() (int64, bool) {
	at := warmedUp.Load()
	return at, at != 0
}
