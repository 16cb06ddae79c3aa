// Package schedule says when requests are due, and wakes a load at those moments.
package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Schedule says how long after the start request n of the whole load is due, counted from 0; false
// where there is none.
type Schedule func(n int64) (time.Duration, bool)

// AtRate has so many requests a second, evenly, for ever. No rounding adds up.
func AtRate(perSecond int64) Schedule {
	return func(n int64) (time.Duration, bool) {
		whole, rest := n/perSecond, n%perSecond
		return time.Duration(whole)*time.Second + time.Second*time.Duration(rest)/time.Duration(perSecond), true
	}
}

// Listed has a request at each of these offsets from the start.
func Listed(offsets []time.Duration) Schedule {
	return func(n int64) (time.Duration, bool) {
		if n >= int64(len(offsets)) {
			return 0, false
		}
		return offsets[n], true
	}
}

// ReadListed reads a JSON list of nanoseconds that don't decrease.
func ReadListed(path string) (Schedule, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("can't read the list of arrivals: %w", err)
	}
	var offsets []time.Duration
	if err := json.Unmarshal(text, &offsets); err != nil {
		return nil, fmt.Errorf("%s is no list of nanoseconds: %w", path, err)
	}
	if len(offsets) == 0 {
		return nil, errors.New(path + ": there are no arrivals in the list")
	}
	before := time.Duration(0)
	for place, offset := range offsets {
		if offset < before {
			return nil, fmt.Errorf("%s: entry %d is before the one ahead of it, or before the start", path, place+1)
		}
		before = offset
	}
	return Listed(offsets), nil
}
