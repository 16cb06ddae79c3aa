//go:build !linux

package engine

import (
	"context"
	"time"
)

// newAlarm returns a function that returns true at a moment, as punctually as Go's timers are; false if the context is done.
func newAlarm(ctx context.Context) (func(time.Time) bool, error) {
	return func(moment time.Time) bool { return sleep(ctx, time.Until(moment)) }, nil
}
