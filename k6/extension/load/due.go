package load

import (
	"strconv"
	"sync"
	"sync/atomic"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
)

// dropped counts the iterations that were due and not started; see AddDropped.
var dropped atomic.Int64

// AddDropped tells of iterations that k6 dropped. k6 numbers only the iterations that it starts, so
// that finding out when one was due takes the number of those that it dropped before. Our output sees
// them pass, about 50 ms after they were dropped. In between, later iterations are taken for earlier
// ones and their response time comes out too long, by one period for each drop not yet seen. That
// errs on the side of caution, and a cell with drops is not used anyway: its gate fails.
func AddDropped(count int64) { dropped.Add(count) }

// metronome is started by the first VU of the process.
var metronome sync.Once

func (i *instance) startMetronome(state *lib.State) {
	if err := startMetronome(i.schedule); err != nil {
		state.Logger.WithError(err).Warn("response times will be up to a millisecond too long: no precise timer")
	}
}

// due notes in the VU's metadata when this iteration was due, so that all its samples carry it. Under
// an executor without a schedule it does nothing.
func (i *instance) due() {
	state := i.state()
	if scenario := lib.GetScenarioState(i.vu.Context()); scenario != i.scenario {
		i.scenario = scenario
		i.schedule = scheduleOf(i.vu.Context())
		if i.schedule != nil {
			metronome.Do(func() { i.startMetronome(state) })
		}
	}
	if i.schedule == nil {
		return
	}
	// Two VUs that start at once may take each other's number; the sum of their times is the same.
	due := i.schedule.due(int64(state.GetScenarioLocalVUIter()) + dropped.Load())
	state.Tags.Modify(func(current *metrics.TagsAndMeta) {
		current.SetMetadata(sample.DueMetadata, strconv.FormatInt(due.UnixNano(), 10))
	})
}
