package engine

import (
	"context"
	"time"

	"wirebench.dev/wireload/schedule"
)

// runOpen sends each request when it is due, or, if all users are busy then, as soon as one isn't. What can't be sent
// within a time-out of the load's end is counted as dropped.
func (r *run) runOpen() error {
	alarm, err := schedule.NewAlarm(r.ctx)
	if err != nil {
		return err
	}
	defer alarm.Close()
	due := make(chan int64)
	for n := range r.load.OwnUsers() {
		r.start(r.load.userNumber(n), func(u *user) { u.performAll(due) })
	}
	r.begin()
	r.dispatch(alarm, due)
	close(due)
	alarm.Wait(r.clock.at(r.endUnixNS()))
	return nil
}

// performAll sends requests that are due until there are no more.
func (u *user) performAll(due <-chan int64) {
	for moment := range due {
		u.perform(moment)
	}
}

// dispatch hands each arrival to a user.
func (r *run) dispatch(alarm *schedule.Alarm, due chan int64) {
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
		select {
		case due <- moment:
			continue
		default:
		}
		if users < most {
			r.start(r.load.userNumber(users), func(u *user) {
				u.perform(moment)
				u.performAll(due)
			})
			users++
			continue
		}
		select {
		case due <- moment:
		case <-final.Done():
			// Of an interrupted load, what was not due yet isn't missing.
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
