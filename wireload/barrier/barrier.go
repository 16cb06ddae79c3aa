// Package barrier lets the users of a load wait for each other.
package barrier

import (
	"context"
	"sync"
)

// Barrier lets users wait until all of them have arrived; after that it can be used again.
type Barrier struct {
	mutex   sync.Mutex
	arrived int
	release chan struct{}
}

// Wait returns when so many users have arrived, or the context is done. The last one to arrive calls
// onAll before any of them continues.
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
