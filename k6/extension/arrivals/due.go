package arrivals

import (
	"context"
	"sync/atomic"
	"time"
)

// arrival is one iteration to be run: when it is due, and its number in this instance and in the whole
// test, counted from 0.
type arrival struct {
	due           time.Time
	local, global uint64
}

type userKey struct{}

// DueAt returns when the iteration was due that a VU with this context runs; false under an executor
// where nothing is ever due.
func DueAt(ctx context.Context) (time.Time, bool) {
	user, ok := ctx.Value(userKey{}).(*user)
	if !ok {
		return time.Time{}, false
	}
	return user.current.due, true
}

// started is when the first of the process's scenarios of ours began, in nanoseconds of Unix time; 0 if
// none has.
var started atomic.Int64

// StartedAt returns when the load began, in nanoseconds of Unix time: moments that requests are due
// count from there. False if no load of ours has begun.
func StartedAt() (int64, bool) {
	at := started.Load()
	return at, at != 0
}
