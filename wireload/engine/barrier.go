package engine

import "sync"

// Barrier lets the users of a load wait for each other: after a warm-up by calls, and between phases. After all have
// arrived it can be used again.
type Barrier struct {
	users int
	// over ends all waiting with the load: a user that has no time left no longer arrives.
	over <-chan struct{}

	mutex   sync.Mutex
	arrived int
	release chan struct{}
}

// Wait returns when all users have called it.
func (b *Barrier) Wait() { b.wait(func() {}) }

// wait has the last user to arrive call onAll before any of them continues. It returns false if the load is over.
func (b *Barrier) wait(onAll func()) bool {
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
		return true
	case <-b.over:
		return false
	}
}
