package main

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestRandomLatenciesHaveTheirDistribution(t *testing.T) {
	const draws = 200_000
	for name, test := range map[string]struct {
		behaviour behaviour
		// The share of latencies that are above.
		shares map[time.Duration]float64
	}{
		"two-modes": {
			behaviour{name: "two-modes", latency: 2 * ms, slow: 20 * ms, slowShare: 0.1},
			map[time.Duration]float64{2*ms - 1: 1, 2 * ms: 0.1, 20*ms - 1: 0.1, 20 * ms: 0},
		},
		"pareto": {
			behaviour{name: "pareto", latency: 2 * ms, shape: 2},
			map[time.Duration]float64{2*ms - 1: 1, 4 * ms: 0.25, 20 * ms: 0.01, 200 * ms: 0.0001, paretoMax: 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			random, above := rand.New(rand.NewPCG(1, 0)), map[time.Duration]int{}
			for range draws {
				latency := test.behaviour.delay(0, random)
				for limit := range test.shares {
					if latency > limit {
						above[limit]++
					}
				}
			}
			for limit, share := range test.shares {
				sigma := math.Sqrt(draws * share * (1 - share))
				if math.Abs(float64(above[limit])-draws*share) > 5*sigma {
					t.Errorf("%d of %d are above %v: want a share of %v", above[limit], draws, limit, share)
				}
			}
		})
	}
}

func TestStallEndsForAllAtOnce(t *testing.T) {
	b := behaviour{name: "stall", latency: 5 * ms, stallAfter: 2000 * ms, stall: 1000 * ms}
	for since, want := range map[time.Duration]time.Duration{
		0: 5 * ms, 2000*ms - 1: 5 * ms, 2000 * ms: 1005 * ms, 2600 * ms: 405 * ms, 3000*ms - 1: 5*ms + 1, 3000 * ms: 5 * ms,
	} {
		if got := b.delay(since, nil); got != want {
			t.Errorf("%v after the first request: %v, want %v", since, got, want)
		}
	}
}

func TestTheFirstRequestsOfALateStartAreSlow(t *testing.T) {
	b := behaviour{name: "late-start", latency: 5 * ms, slow: 20 * ms, slowFirst: 2}
	for number, want := range []time.Duration{20 * ms, 20 * ms, 5 * ms, 5 * ms} {
		if got := b.delay(0, nil); got != want {
			t.Errorf("request %d: %v, want %v", number, got, want)
		}
	}
}
