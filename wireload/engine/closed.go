package engine

import "time"

// runClosed has each user send its next request when it has the reply to the one before.
func (r *run) runClosed() {
	r.begin()
	work := r.sendForDuration
	if r.load.Calls > 0 {
		work = r.sendCalls
	}
	for n := range r.load.OwnUsers() {
		number := r.load.userNumber(n)
		r.start(number, func(u *user) {
			if r.waitToSpawn(number) {
				work(u)
			}
		})
	}
}

// waitToSpawn waits until it is a user's turn to start; false if the load ends before.
func (r *run) waitToSpawn(number int) bool {
	if r.load.SpawnRatePerS == 0 {
		return true
	}
	turn := r.startUnixNS.Load() + int64(float64(number)/r.load.SpawnRatePerS*float64(time.Second))
	if turn >= r.endUnixNS() {
		return false
	}
	return r.pause(time.Duration(turn - r.clock.now()))
}

// pause returns false if the load is interrupted.
func (r *run) pause(lasts time.Duration) bool {
	select {
	case <-time.After(lasts):
		return true
	case <-r.ctx.Done():
		return false
	}
}

// send has a user send its next request. One that can't connect would otherwise try again at once, and use a whole core.
func (r *run) send(u *user) {
	u.perform(0)
	if u.isUnconnected && r.load.DialPause > 0 {
		r.pause(r.load.DialPause)
	}
}

func (r *run) sendForDuration(u *user) {
	end := r.endUnixNS()
	for now := r.clock.now(); now < end && r.ctx.Err() == nil; now = u.lastUsed {
		r.send(u)
	}
}

// sendCalls sends a number of requests. Those that warm up come first; then all users wait for each other.
func (r *run) sendCalls(u *user) {
	end := r.endUnixNS()
	for call := range r.load.WarmupCalls + r.load.Calls {
		if call == r.load.WarmupCalls && call > 0 {
			r.load.Barrier.wait(func() { r.recorder.open(r.clock.now()) })
		}
		if r.clock.now() >= end || r.ctx.Err() != nil {
			return
		}
		r.send(u)
	}
}
