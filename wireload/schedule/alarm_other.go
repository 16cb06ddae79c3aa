//go:build !linux

package schedule

import (
	"context"
	"time"
)

// Alarm wakes its owner at a moment, as punctually as Go's timers are.
type Alarm struct {
	ctx context.Context //nolint:containedctx // It lasts as long as the scenario that it is made for.
}

// NewAlarm returns an alarm that ends every wait when the context is done.
func NewAlarm(ctx context.Context) (*Alarm, error) { return &Alarm{ctx}, nil }

// Wait returns true at that moment, or at once if it has passed; false if the context is done.
func (a *Alarm) Wait(moment time.Time) bool {
	select {
	case <-time.After(time.Until(moment)):
		return a.ctx.Err() == nil
	case <-a.ctx.Done():
		return false
	}
}

// Close frees the alarm.
func (a *Alarm) Close() {}
