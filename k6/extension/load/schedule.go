package load

import (
	"context"
	"math/big"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/executor"
)

// schedule says when the iterations of a constant arrival rate are due. It repeats the arithmetic of
// k6's executor: iteration g of the whole test is due g periods after the start, the period being a
// whole number of nanoseconds; an instance that runs a segment of the test has iterations start,
// start+offsets[0], … and goes round the offsets.
type schedule struct {
	start  time.Time
	period time.Duration
	first  int64
	// sums[i] is the sum of the first i offsets of a round; the last is a whole round's.
	sums []int64
}

// scheduleOf returns the schedule of the scenario that a VU works for, or nil if its executor has
// none: a closed load sends when it can, and nothing is ever due.
func scheduleOf(ctx context.Context) *schedule {
	scenario, execution := lib.GetScenarioState(ctx), lib.GetExecutionState(ctx)
	if scenario == nil || execution == nil {
		return nil
	}
	config, ok := execution.Test.Options.Scenarios[scenario.Name].(*executor.ConstantArrivalRateConfig)
	if !ok {
		return nil
	}
	vus := config.MaxVUs
	if !vus.Valid {
		vus = config.PreAllocatedVUs
	}
	tuple, err := execution.ExecutionTuple.GetNewExecutionTupleFromValue(vus.Int64)
	if err != nil {
		return nil // No VU of this instance takes part in the scenario.
	}
	first, offsets, _ := tuple.GetStripedOffsets()
	return newSchedule(scenario.StartTime, config.Rate.Int64, config.TimeUnit.TimeDuration(), first, offsets)
}

func newSchedule(start time.Time, rate int64, timeUnit time.Duration, first int64, offsets []int64) *schedule {
	period, _ := big.NewRat(int64(timeUnit), rate).Float64()
	sums := make([]int64, 1, len(offsets)+1)
	for i, offset := range offsets {
		sums = append(sums, sums[i]+offset)
	}
	return &schedule{start: start, period: time.Duration(period), first: first, sums: sums}
}

// due returns when the n-th iteration of this instance was due, counted from 0.
func (s *schedule) due(n int64) time.Time {
	perRound := int64(len(s.sums) - 1)
	round, rest := n/perRound, n%perRound
	index := s.first + round*s.sums[perRound] + s.sums[rest]
	return s.start.Add(s.period * time.Duration(index))
}

// interval is the shortest time between two iterations of this instance that repeats from its first
// one on: the period where it runs the whole test.
func (s *schedule) interval() time.Duration {
	if rounds := len(s.sums) - 1; rounds == 1 {
		return s.period * time.Duration(s.sums[1])
	}
	return s.period
}
