package arrivals

import (
	"context"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/executor"
	"go.k6.io/k6/metrics"
	"wirebench.dev/wireload/schedule"
)

// arrivals runs one scenario.
type arrivals struct {
	*executor.BaseExecutor
	config   *config
	state    *lib.ExecutionState
	schedule schedule.Schedule
	// index counts the iterations that are this instance's, of all.
	index *lib.SegmentedIndex
}

var _ lib.Executor = &arrivals{}

// Init finds out which iterations are this instance's: those that VUs of the same numbers would have.
func (a *arrivals) Init(context.Context) error {
	tuple, err := a.state.ExecutionTuple.GetNewExecutionTupleFromValue(a.config.VUs.Int64)
	if err != nil {
		return err // Not where HasWork says that there is some.
	}
	a.index = lib.NewSegmentedIndex(tuple)
	return nil
}

// Run starts every iteration when it is due, and returns when all have ended. The clock starts when all
// VUs are active: activating ten thousand takes a while.
func (a *arrivals) Run(parent context.Context, out chan<- metrics.SampleContainer) error {
	ctx, stop := context.WithCancel(parent)
	defer stop()
	clock, err := schedule.NewAlarm(ctx)
	if err != nil {
		return err
	}
	defer clock.Close()
	scenario := &lib.ScenarioState{Name: a.config.GetName(), Executor: a.config.GetType()}
	vus, err := a.activateAll(lib.WithScenarioState(ctx, scenario))
	if err != nil {
		return err
	}
	start := time.Now()
	scenario.StartTime = start
	scenario.ProgressFn = func() (float64, []string) {
		return min(1, float64(time.Since(start))/float64(a.config.Duration.TimeDuration())), nil
	}
	started.CompareAndSwap(0, start.UnixNano())
	end := start.Add(a.config.Duration.TimeDuration())
	a.dispatch(clock, start, vus.free, func() { a.drop(parent, out) })
	clock.Wait(end)
	// Iterations that are running may finish within the graceful stop.
	defer time.AfterFunc(time.Until(end.Add(a.config.GetGracefulStop())), stop).Stop()
	vus.stop(stop)
	return nil
}

// dispatch gives each arrival to a VU that is free when it is due, or drops it.
func (a *arrivals) dispatch(clock *schedule.Alarm, start time.Time, free <-chan *user, drop func()) {
	for {
		local, global := a.index.Next() // They count from 1.
		offset, ok := a.schedule(global - 1)
		if !ok || offset >= a.config.Duration.TimeDuration() {
			return
		}
		due := start.Add(offset)
		if !clock.Wait(due) {
			return
		}
		select {
		case vu := <-free:
			vu.next <- arrival{due, uint64(local - 1), uint64(global - 1)}
		default:
			drop()
		}
	}
}

func (a *arrivals) drop(ctx context.Context, out chan<- metrics.SampleContainer) {
	metrics.PushIfNotDone(ctx, out, metrics.Sample{
		TimeSeries: metrics.TimeSeries{
			Metric: a.state.Test.BuiltinMetrics.DroppedIterations,
			Tags:   a.state.Test.RunTags,
		},
		Time:  time.Now(),
		Value: 1,
	})
}

// activateAll activates all VUs of this instance, and has them wait for arrivals.
func (a *arrivals) activateAll(ctx context.Context) (*pool, error) {
	count := a.config.vus(a.state.ExecutionTuple)
	vus := &pool{free: make(chan *user, count)}
	for range count {
		initialized, err := a.state.GetPlannedVU(a.GetLogger(), true)
		if err != nil {
			return nil, err
		}
		vus.active.Add(1)
		vus.start(ctx, a.activate(ctx, initialized, vus.active.Done), a.runOnce)
	}
	return vus, nil
}

func (a *arrivals) activate(ctx context.Context, initialized lib.InitializedVU, onReturn func()) *user {
	made := &user{next: make(chan arrival, 1)}
	made.vu = initialized.Activate(&lib.VUActivationParams{
		RunContext:               context.WithValue(ctx, userKey{}, made),
		Scenario:                 a.config.GetName(),
		Exec:                     a.config.GetExec(),
		Env:                      a.config.GetEnv(),
		Tags:                     a.config.GetTags(),
		GetNextIterationCounters: func() (uint64, uint64) { return made.current.local, made.current.global },
		DeactivateCallback: func(back lib.InitializedVU) {
			a.state.ReturnVU(back, true)
			onReturn()
		},
	})
	return made
}

func (a *arrivals) runOnce(ctx context.Context, user *user) {
	err := user.vu.RunOnce()
	if ctx.Err() != nil {
		a.state.AddInterruptedIterations(1)
		return
	}
	if err != nil {
		a.GetLogger().Error(err)
	}
	a.state.AddFullIterations(1)
}
