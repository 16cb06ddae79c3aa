//go:build !linux

package arrivals

import (
	"context"
	"time"
)

// alarm wakes its owner at a moment, as punctually as Go's timers are.
type alarm struct {
	ctx context.Context //nolint:containedctx // It lasts as long as the scenario that it is made for.
}

// newAlarm returns an alarm that ends every wait when the context is done.
func newAlarm(ctx context.Context) (*alarm, error) { return &alarm{ctx}, nil }

// wait returns true at that moment, or at once if it has passed; false if the context is done.
func (a *alarm) wait(moment time.Time) bool {
	select {
	case <-time.After(time.Until(moment)):
		return a.ctx.Err() == nil
	case <-a.ctx.Done():
		return false
	}
}

func (a *alarm) close() {}
