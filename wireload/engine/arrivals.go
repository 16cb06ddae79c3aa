package engine

import (
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/schedule"
)

// arrivals are the requests of an open load. Users stand in line for them: the first waits until the next is due, and the
// others for its place.
type arrivals struct {
	run   *run
	alarm *schedule.Alarm
	// first has something in it while nobody is the first in line, who alone uses the alarm and n.
	first chan struct{}
	// n is the number of the next arrival among those of all load generators.
	n int64
	// idle counts the users in line.
	idle atomic.Int64
}

func newArrivals(r *run) (*arrivals, error) {
	a := &arrivals{run: r, first: make(chan struct{}, 1), n: int64(r.load.Generator)}
	a.first <- struct{}{}
	var err error
	a.alarm, err = schedule.NewAlarm(r.ctx)
	return a, err
}

// next returns when a request is due, or was while all users were busy. What can't be sent within a timeout of the load's
// end is sent no more.
func (a *arrivals) next(*user) (dueUnixNS int64, ok bool) {
	r := a.run
	a.idle.Add(1)
	<-a.first
	dueUnixNS, ok = a.await()
	if ok = ok && r.clock.now() < r.endUnixNS()+int64(r.load.Timeout); ok {
		a.n += int64(r.load.Generators)
	}
	if a.idle.Add(-1) == 0 && ok && int(r.started.Load()) < r.load.ownMax() {
		r.users.Go(a.standIn)
	} else {
		a.first <- struct{}{}
	}
	return dueUnixNS, ok
}

// standIn is the first in line while all users are busy. If they still are when the next request is due, one more starts.
func (a *arrivals) standIn() {
	if _, ok := a.await(); ok && a.idle.Load() == 0 {
		a.run.start()
	}
	a.first <- struct{}{}
}

// await waits until the next request is due; false if there is none, or the load is interrupted.
func (a *arrivals) await() (dueUnixNS int64, ok bool) {
	offset, ok := a.run.load.Due(a.n)
	if !ok || offset >= a.run.load.Duration {
		return 0, false
	}
	due := a.run.startUnixNS + int64(offset)
	return due, a.alarm.Wait(a.run.clock.at(due))
}

// end waits for the end of the load, and counts what was due in it and not sent. What was not due yet when a load is
// interrupted isn't missing.
func (a *arrivals) end() {
	a.alarm.Wait(a.run.clock.at(a.run.endUnixNS()))
	a.alarm.Close()
	until := min(a.run.load.Duration, time.Duration(a.run.clock.now()-a.run.startUnixNS))
	for offset, ok := a.run.load.Due(a.n); ok && offset < until; offset, ok = a.run.load.Due(a.n) {
		a.n += int64(a.run.load.Generators)
		a.run.recorder.drop()
	}
}
