package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// paretoMax cuts the tail off before drivers time out.
const paretoMax = time.Second

// behaviour says how long after its arrival each request is answered.
type behaviour struct {
	name              string
	latency, slow     time.Duration
	slowShare, shape  float64
	stallAfter, stall time.Duration
	slowFirst, begun  int64
	loop              int
}

func (b *behaviour) register(flags *flag.FlagSet) {
	flags.StringVar(&b.name, "behaviour", "null", "null (as fast as possible), constant, two-modes, pareto, stall or late-start")
	flags.DurationVar(&b.latency, "latency", 5*time.Millisecond, "latency; of two-modes, of most requests; of pareto, the least")
	flags.DurationVar(&b.slow, "slow", 20*time.Millisecond, "latency of the slow requests of two-modes and late-start")
	flags.Float64Var(&b.slowShare, "slow-share", 0.1, "share of two-modes' slow requests")
	flags.Float64Var(&b.shape, "shape", 2, "shape (alpha) of pareto: the less, the heavier its tail, which ends at 1s")
	flags.DurationVar(&b.stallAfter, "stall-after", 2*time.Second, "when the stall begins, after the first request")
	flags.Int64Var(&b.slowFirst, "slow-first", 8, "how many requests of late-start are slow: the first")
	flags.IntVar(&b.loop, "loop", 0, "iterations of a busy loop that null spends on each request, to use a known share of CPU time more")
	flags.DurationVar(&b.stall, "stall", time.Second, "how long no request is answered in the stall")
}

func (b *behaviour) check() error {
	switch b.name {
	case "null", "constant", "two-modes", "pareto", "stall", "late-start":
	default:
		return fmt.Errorf("unknown behaviour %q: choose null, constant, two-modes, pareto, stall or late-start", b.name)
	}
	if min(b.latency, b.slow, b.stallAfter, b.stall) < 0 {
		return errors.New("a duration must not be negative")
	}
	if b.loop < 0 {
		return errors.New("-loop must not be negative")
	}
	if !(0 <= b.slowShare && b.slowShare <= 1 && b.shape > 0) {
		return errors.New("-slow-share must be from 0 to 1, and -shape above 0")
	}
	return nil
}

// delay returns how long a request takes that arrived so long after the first of all; random is its connection's.
func (b *behaviour) delay(sinceFirst time.Duration, random *rand.Rand) time.Duration {
	switch b.name {
	case "null":
		spin(b.loop)
		return 0
	case "two-modes":
		if random.Float64() < b.slowShare {
			return b.slow
		}
	case "pareto":
		// The inverse of the distribution function 1 - (latency / x)^shape.
		x := float64(b.latency) / math.Pow(1-random.Float64(), 1/b.shape)
		return time.Duration(min(x, float64(paretoMax)))
	case "late-start":
		if atomic.AddInt64(&b.begun, 1) <= b.slowFirst {
			return b.slow
		}
	case "stall":
		if left := b.stallAfter + b.stall - sinceFirst; 0 < left && left <= b.stall {
			return left + b.latency
		}
	}
	return b.latency
}

// spin takes a time in proportion to its iterations: each needs the result of the one before.
//
//go:noinline
func spin(iterations int) uint64 {
	state := uint64(1)
	for range iterations {
		state = state*6364136223846793005 + 1442695040888963407
	}
	return state
}
