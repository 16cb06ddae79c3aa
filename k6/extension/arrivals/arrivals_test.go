package arrivals

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/executor"
	"go.k6.io/k6/lib/types"
	"go.k6.io/k6/metrics"
	"gopkg.in/guregu/null.v3"
	"wirebench.dev/wireload/schedule"
)

// fakeVU runs an iteration by noting what it is told of it.
type fakeVU struct {
	run    *run
	params *lib.VUActivationParams
}

func (f *fakeVU) GetID() uint64 { return 1 }

func (f *fakeVU) Activate(params *lib.VUActivationParams) lib.ActiveVU {
	f.params = params
	context.AfterFunc(params.RunContext, func() { params.DeactivateCallback(f) })
	return f
}

func (f *fakeVU) RunOnce() error {
	due, _ := DueAt(f.params.RunContext)
	_, global := f.params.GetNextIterationCounters()
	began := time.Now()
	time.Sleep(f.run.takes)
	f.run.mutex.Lock()
	defer f.run.mutex.Unlock()
	f.run.seen = append(f.run.seen, seen{global, due, began})
	return nil
}

// seen is one iteration as its VU sees it.
type seen struct {
	number     uint64
	due, began time.Time
}

// run is one scenario on one segment of a test.
type run struct {
	config  config
	segment string
	takes   time.Duration

	mutex   sync.Mutex
	seen    []seen
	dropped int
}

func (r *run) start(t *testing.T) {
	t.Helper()
	r.config.BaseConfig = executor.NewBaseConfig("load", Name)
	r.config.GracefulStop = types.NullDurationFrom(time.Second)
	if found := r.config.Validate(); len(found) > 0 {
		t.Fatal(found)
	}
	state := executionState(t, r)
	made, err := r.config.NewExecutor(state, logrus.NewEntry(logrus.StandardLogger()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, out := t.Context(), make(chan metrics.SampleContainer, 1000)
	if err := made.Init(ctx); err != nil {
		t.Fatal(err)
	}
	if err := made.Run(ctx, out); err != nil {
		t.Fatal(err)
	}
	r.dropped = len(out)
	if left := state.GetCurrentlyActiveVUsCount(); left != 0 {
		t.Errorf("%d VUs are still active", left)
	}
	slices.SortFunc(r.seen, func(a, b seen) int { return int(a.number) - int(b.number) })
}

func executionState(t *testing.T, r *run) *lib.ExecutionState {
	t.Helper()
	segment, sequence := (*lib.ExecutionSegment)(nil), (*lib.ExecutionSegmentSequence)(nil)
	if r.segment != "" {
		thirds, err := lib.NewExecutionSegmentSequenceFromString("0,1/3,2/3,1")
		if err != nil {
			t.Fatal(err)
		}
		if segment, err = lib.NewExecutionSegmentFromString(r.segment); err != nil {
			t.Fatal(err)
		}
		sequence = &thirds
	}
	tuple, err := lib.NewExecutionTuple(segment, sequence)
	if err != nil {
		t.Fatal(err)
	}
	registry := metrics.NewRegistry()
	test := &lib.TestRunState{TestPreInitState: &lib.TestPreInitState{
		Registry: registry, BuiltinMetrics: metrics.RegisterBuiltinMetrics(registry),
	}, RunTags: registry.RootTagSet()}
	vus := tuple.ScaleInt64(r.config.VUs.Int64)
	state := lib.NewExecutionState(test, tuple, uint64(vus), uint64(vus))
	for range vus {
		state.AddInitializedVU(&fakeVU{run: r})
	}
	return state
}

func listOf(t *testing.T, text string) null.String {
	t.Helper()
	path := filepath.Join(t.TempDir(), "due.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return null.StringFrom(path)
}

func halfASecond(vus int64) config {
	return config{VUs: null.IntFrom(vus), Duration: types.NullDurationFrom(500 * time.Millisecond)}
}

func TestIterationsAreDueAtTheMomentsOfTheListAndStartThen(t *testing.T) {
	one := &run{config: halfASecond(4)}
	one.config.Arrivals = listOf(t, "[0, 50000000, 50000000, 130500000, 499000000, 500000000, 900000000]")
	one.start(t)
	want := []time.Duration{0, 50_000_000, 50_000_000, 130_500_000, 499_000_000}
	if len(one.seen) != len(want) || one.dropped != 0 {
		t.Fatalf("want the %d moments before the end, got %v, and %d dropped", len(want), one.seen, one.dropped)
	}
	for place, each := range one.seen {
		if got := each.due.Sub(one.seen[0].due); got != want[place] {
			t.Errorf("iteration %d: want it due after %s, got %s", place, want[place], got)
		}
		// A busy machine wakes us late; early is wrong whatever the machine.
		if late := each.began.Sub(each.due); late < 0 || late > 200*time.Millisecond {
			t.Errorf("iteration %d: began %s after it was due", place, late)
		}
	}
}

func TestAConstantRateHasNoRoundingThatAddsUp(t *testing.T) {
	due := schedule.AtRate(3)
	for n, want := range map[int64]time.Duration{0: 0, 1: 333_333_333, 2: 666_666_666, 3: time.Second, 3_000_000: 1_000_000 * time.Second} {
		if got, _ := due(n); got != want {
			t.Errorf("iteration %d: want %s, got %s", n, want, got)
		}
	}
}

func TestAnIterationThatIsDueWhileAllVUsAreBusyIsDropped(t *testing.T) {
	one := &run{config: halfASecond(2), takes: 300 * time.Millisecond}
	one.config.Arrivals = listOf(t, "[0, 0, 0, 0, 0]")
	one.start(t)
	if len(one.seen)+one.dropped != 5 || len(one.seen) != 2 {
		t.Errorf("want two of five, got %d, and %d dropped", len(one.seen), one.dropped)
	}
}

func TestIterationsUnderWayMayFinish(t *testing.T) {
	one := &run{config: halfASecond(1), takes: 200 * time.Millisecond}
	one.config.Arrivals = listOf(t, "[450000000]")
	one.start(t)
	if len(one.seen) != 1 {
		t.Errorf("want one, got %v", one.seen)
	}
}

func TestSegmentsShareTheArrivalsWithoutGapsOrOverlaps(t *testing.T) {
	list := listOf(t, "[1, 2, 3, 4, 5, 6, 7, 8]")
	var numbers []uint64
	for _, segment := range []string{"0:1/3", "1/3:2/3", "2/3:1"} {
		one := &run{config: halfASecond(24), segment: segment}
		one.config.Duration = types.NullDurationFrom(50 * time.Millisecond)
		one.config.Arrivals = list
		one.start(t)
		if len(one.seen) < 2 || len(one.seen) > 3 {
			t.Errorf("%s: want a third of eight, got %d", segment, len(one.seen))
		}
		for _, each := range one.seen {
			numbers = append(numbers, each.number)
		}
	}
	slices.Sort(numbers)
	if want := []uint64{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(want, numbers) {
		t.Errorf("want each once, got %v", numbers)
	}
}

func TestAnInterruptEndsTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clock, err := schedule.NewAlarm(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	time.AfterFunc(20*time.Millisecond, cancel)
	if clock.Wait(time.Now().Add(time.Minute)) {
		t.Error("want no moment after the interrupt")
	}
}

func TestAListThatIsNoneIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":            "is no list",
		"{}":          "is no list",
		"[0.5]":       "is no list",
		"[]":          "no arrivals",
		"[0, 10, 9]":  "entry 3",
		"[-1, 10, 9]": "entry 1",
	} {
		_, err := schedule.ReadListed(listOf(t, text).String)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
}

func TestAScenarioThatCannotBeIsRefused(t *testing.T) {
	for name, wrong := range map[string]func(*config){
		"vus must":      func(c *config) { c.VUs = null.IntFrom(0) },
		"duration must": func(c *config) { c.Duration = types.NullDuration{} },
		"either a rate": func(c *config) { c.Rate = null.Int{} },
		"rate must":     func(c *config) { c.Rate = null.IntFrom(0) },
	} {
		tried := halfASecond(1)
		tried.BaseConfig = executor.NewBaseConfig("load", Name)
		tried.Rate = null.IntFrom(10)
		wrong(&tried)
		if found := tried.Validate(); len(found) != 1 || !strings.Contains(found[0].Error(), name) {
			t.Errorf("want %q, got %v", name, found)
		}
	}
}
