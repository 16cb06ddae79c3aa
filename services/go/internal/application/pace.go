package application

import (
	"context"
	"time"
)

const (
	// Timers are no finer: items that are due within a tick are sent together.
	tick = time.Millisecond
	// A client that pauses to read isn't sent everything that was due meanwhile, which would exceed its limit.
	catchUpMax = 100 * time.Millisecond
)

// pace says how many items of a stream are due.
type pace struct {
	// Between two items; 0 for as fast as the client reads.
	interval time.Duration
	next     time.Time
}

func newPace(perSecond int32) *pace {
	p := &pace{next: time.Now()}
	if perSecond > 0 {
		p.interval = time.Second / time.Duration(perSecond)
	}
	return p
}

// wait returns when items are due, and how many: 1 to most. The error says what ended the wait.
func (p *pace) wait(ctx, stopping context.Context, most int) (int, error) {
	if pause := time.Until(p.next); p.interval > 0 && pause > 0 {
		timer := time.NewTimer(max(pause, tick))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-stopping.Done():
		}
	}
	if ctx.Err() != nil {
		return 0, errCancelled
	}
	if stopping.Err() != nil {
		return 0, errStopping
	}
	return p.take(time.Now(), most), nil
}

// take counts the items that are due at a time, one at least.
func (p *pace) take(now time.Time, most int) int {
	if p.interval == 0 {
		return most
	}
	if late := now.Add(-catchUpMax); p.next.Before(late) {
		p.next = late
	}
	due := max(1, min(most, int(now.Sub(p.next)/p.interval)+1))
	p.next = p.next.Add(time.Duration(due) * p.interval)
	return due
}
