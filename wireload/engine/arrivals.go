package engine

import (
	"math"
	"sync/atomic"
	"time"
)

// arrivals are the requests of an open load. Users stand in line for them: the first waits until the next is due, and the
// others for its place.
type arrivals struct {
	run *run
	// wait is an alarm.
	wait func(time.Time) bool
	// first has something in it while no user is the first in line, who alone uses the alarm and n.
	first chan struct{}
	// n is the number of the next arrival.
	n int64
	// idle counts the users in line.
	idle atomic.Int64
}

func newArrivals(r *run) (*arrivals, error) {
	wait, err := newAlarm(r.ctx)
	a := &arrivals{run: r, wait: wait, first: make(chan struct{}, 1)}
	a.first <- struct{}{}
	return a, err
}

// next returns when a request is due, or was while all users were busy. What can't be sent within a timeout of the load's
// end is sent no more.
func (a *arrivals) next(*user) (dueUnixNS int64, ok bool) {
	r := a.run
	a.idle.Add(1)
	<-a.first
	dueUnixNS, ok = a.due()
	ok = ok && a.wait(r.at(dueUnixNS)) && r.now() < r.endUnixNS()+int64(r.load.Timeout)
	if ok {
		a.n++
	}
	if a.idle.Add(-1) == 0 && ok && int(r.started.Load()) < r.load.UsersMax {
		r.users.Go(a.standIn)
	} else {
		a.first <- struct{}{}
	}
	return dueUnixNS, ok
}

// standIn is the first in line while all users are busy. If they still are when the next request is due, one more starts.
func (a *arrivals) standIn() {
	if due, ok := a.due(); ok && a.wait(a.run.at(due)) && a.idle.Load() == 0 {
		a.run.start()
	}
	a.first <- struct{}{}
}

// due returns when the next request of the load is due; false if there is none.
func (a *arrivals) due() (unixNS int64, ok bool) {
	load, offset := a.run.load, time.Duration(math.MaxInt64)
	if load.RatePerS > 0 { // No rounding adds up.
		offset = time.Duration(a.n) * time.Second / time.Duration(load.RatePerS)
	} else if a.n < int64(len(load.Arrivals)) {
		offset = load.Arrivals[a.n]
	}
	return a.run.startUnixNS + int64(offset), offset < load.Duration
}

// end waits for the end of the load, and counts what was due in it and not sent. What was not due yet when a load is
// interrupted isn't missing.
func (a *arrivals) end() {
	a.wait(a.run.at(a.run.endUnixNS()))
	now := a.run.now()
	for due, ok := a.due(); ok && due < now; due, ok = a.due() {
		a.n++
		a.run.drop()
	}
}
