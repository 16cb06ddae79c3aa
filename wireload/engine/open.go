package engine

import (
	"context"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/schedule"
)

// arrivals hands requests that are due to users.
type arrivals struct {
	due chan int64
	// idle counts the users that wait for a request, or are about to.
	idle atomic.Int64
}

// runOpen sends each request when it is due, or, if all users are busy then, as soon as one isn't. What can't be sent
// within a timeout of the load's end is counted as dropped.
func (r *run) runOpen() error {
	alarm, err := schedule.NewAlarm(r.ctx)
	if err != nil {
		return err
	}
	defer alarm.Close()
	a := &arrivals{due: make(chan int64)}
	a.idle.Store(int64(r.load.OwnUsers()))
	for n := range r.load.OwnUsers() {
		r.start(r.load.userNumber(n), a.performAll)
	}
	r.begin()
	r.dispatch(alarm, a)
	close(a.due)
	alarm.Wait(r.clock.at(r.endUnixNS()))
	return nil
}

// performAll sends requests that are due until there are no more.
func (a *arrivals) performAll(u *user) {
	for moment := range a.due {
		a.perform(u, moment)
	}
}

func (a *arrivals) perform(u *user, moment int64) {
	u.perform(moment)
	a.idle.Add(1)
}

// dispatch hands each arrival to a user.
func (r *run) dispatch(alarm *schedule.Alarm, a *arrivals) {
	final, stop := context.WithDeadline(r.ctx, r.clock.at(r.endUnixNS()).Add(r.load.Timeout))
	defer stop()
	users := r.load.OwnUsers()
	most := r.load.ownMax()
	start := r.startUnixNS.Load()
	for n := int64(r.load.Generator); ; n += int64(r.load.Generators) {
		offset, ok := r.load.Due(n)
		if !ok || offset >= r.load.Duration {
			return
		}
		moment := start + int64(offset)
		if !alarm.Wait(r.clock.at(moment)) {
			return
		}
		if a.idle.Load() == 0 && users < most {
			r.start(r.load.userNumber(users), func(u *user) {
				a.perform(u, moment)
				a.performAll(u)
			})
			users++
			continue
		}
		select {
		case a.due <- moment:
			a.idle.Add(-1)
		case <-final.Done():
			// What was not due yet when a load is interrupted isn't missing.
			r.recorder.drop(r.left(n, min(r.load.Duration, time.Duration(r.clock.now()-start))))
			return
		}
	}
}

// left counts the arrivals from one on that are due before a moment of the load.
func (r *run) left(n int64, until time.Duration) int64 {
	count := int64(0)
	for ; ; n += int64(r.load.Generators) {
		if offset, ok := r.load.Due(n); !ok || offset >= until {
			return count
		}
		count++
	}
}
