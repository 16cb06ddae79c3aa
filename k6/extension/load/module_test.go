package load

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/executor"
	"go.k6.io/k6/lib/types"
	"go.k6.io/k6/metrics"
	"gopkg.in/guregu/null.v3"
	"wirebench.dev/k6/sample"
)

type vu struct {
	*modulestest.Runtime
	t         *testing.T
	samples   chan metrics.SampleContainer
	iteration uint64
}

// newVU is a VU in a scenario that started at `start`.
func newVU(t *testing.T, config lib.ExecutorConfig) *vu {
	t.Helper()
	made := &vu{Runtime: modulestest.NewRuntime(t), t: t, samples: make(chan metrics.SampleContainer, 10)}
	inner := made.VU
	registry := inner.InitEnvField.Registry
	instance := New().NewModuleInstance(inner)
	if err := inner.RuntimeField.Set("load", instance.Exports().Default); err != nil {
		t.Fatal(err)
	}
	inner.InitEnvField = nil
	inner.StateField = &lib.State{
		Tags:                   lib.NewVUStateTags(registry.RootTagSet()),
		Samples:                made.samples,
		GetScenarioLocalVUIter: func() uint64 { return made.iteration },
	}
	tuple, err := lib.NewExecutionTuple(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := &lib.TestRunState{Options: lib.Options{Scenarios: lib.ScenarioConfigs{"load": config}}}
	ctx := lib.WithExecutionState(inner.CtxField, lib.NewExecutionState(run, tuple, 1, 1))
	inner.CtxField = lib.WithScenarioState(ctx, &lib.ScenarioState{Name: "load", StartTime: start})
	return made
}

func arrivals(rate int64) *executor.ConstantArrivalRateConfig {
	config := executor.NewConstantArrivalRateConfig("load")
	config.Rate = null.IntFrom(rate)
	config.TimeUnit = types.NullDurationFrom(time.Second)
	config.PreAllocatedVUs = null.IntFrom(1)
	return config
}

func (v *vu) run(script string) string {
	v.t.Helper()
	value, err := v.VU.RuntimeField.RunString(script)
	if err != nil {
		v.t.Fatalf("%s: %v", script, err)
	}
	return value.String()
}

func (v *vu) metadata() map[string]string { return v.VU.StateField.Tags.GetCurrentValues().Metadata }

func (v *vu) dueAfter() time.Duration {
	v.t.Helper()
	ns, err := strconv.ParseInt(v.metadata()[sample.DueMetadata], 10, 64)
	if err != nil {
		v.t.Fatal(err)
	}
	return time.Unix(0, ns).Sub(start)
}

func TestDueIsTheScheduledMomentOfTheIteration(t *testing.T) {
	vu := newVU(t, arrivals(100))
	for iteration, want := range []time.Duration{0, 10 * time.Millisecond, 20 * time.Millisecond} {
		vu.iteration = uint64(iteration)
		vu.run(`load.due()`)
		if got := vu.dueAfter(); got != want {
			t.Errorf("iteration %d: want %s, got %s", iteration, want, got)
		}
	}
}

func TestDroppedIterationsHadTheirMomentsToo(t *testing.T) {
	t.Cleanup(func() { dropped.Store(0) })
	vu := newVU(t, arrivals(100))
	vu.iteration = 2
	AddDropped(3)
	vu.run(`load.due()`)
	if got, want := vu.dueAfter(), 50*time.Millisecond; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

func TestNothingIsDueUnderAClosedLoad(t *testing.T) {
	vu := newVU(t, executor.NewConstantVUsConfig("load"))
	vu.run(`load.due()`)
	if got := vu.metadata(); len(got) != 0 {
		t.Errorf("want no metadata, got %v", got)
	}
}

func TestConnectingIsChargedToTheRequestAndToNoOther(t *testing.T) {
	vu := newVU(t, arrivals(100))
	if err := vu.VU.RuntimeField.Set("connecting", func() string { return vu.metadata()[sample.ConnectingMetadata] }); err != nil {
		t.Fatal(err)
	}
	if err := vu.VU.RuntimeField.Set("pause", func() { time.Sleep(20 * time.Millisecond) }); err != nil {
		t.Fatal(err)
	}
	took, err := strconv.ParseInt(vu.run(`load.opened('users.get', () => pause(), () => connecting())`), 10, 64)
	if err != nil || took < int64(20*time.Millisecond) {
		t.Errorf("want the request to carry 20ms or more, got %d, error %v", took, err)
	}
	if got := vu.run(`connecting()`); got != "" {
		t.Errorf("want nothing afterwards, got %s", got)
	}
}

func TestAConnectionThatFailsIsAFailedRequest(t *testing.T) {
	refused := errors.New("connect: connection refused")
	timedOut := context.DeadlineExceeded
	for want, failure := range map[string]error{"14": refused, "4": timedOut} {
		vu := newVU(t, arrivals(100))
		if err := vu.VU.RuntimeField.Set("connect", func() error { return failure }); err != nil {
			t.Fatal(err)
		}
		if got := vu.run(`load.opened('users.get', () => connect(), () => { throw 'not to be called' })`); got != "undefined" {
			t.Errorf("want undefined, got %s", got)
		}
		vu.expect(sample.FailedDurationMetric, "users.get", want, failure.Error())
	}
}

func TestFailuresThatK6DoesNotSeeCanBeTold(t *testing.T) {
	vu := newVU(t, arrivals(100))
	vu.run(`load.failed('users.get', 4, 'no reply', 250)`)
	if got := vu.expect(sample.FailedDurationMetric, "users.get", "4", "no reply"); got.Value != 250 {
		t.Errorf("want 250 ms, got %v", got.Value)
	}
	vu.run(`load.explain(5, 'User not found.')`)
	vu.expect(sample.ReasonsMetric, "", "5", "User not found.")
}

func (v *vu) expect(metric, name, status, message string) metrics.Sample {
	v.t.Helper()
	select {
	case container := <-v.samples:
		got := container.GetSamples()[0]
		gotName, _ := got.Tags.Get("name")
		gotStatus, _ := got.Tags.Get("status")
		if got.Metric.Name != metric || gotName != name || gotStatus != status || got.Metadata["error"] != message {
			v.t.Errorf("want %s %s %s %q, got %s %v %v", metric, name, status, message, got.Metric.Name, got.Tags.Map(), got.Metadata)
		}
		return got
	default:
		v.t.Fatal("nothing was measured")
		return metrics.Sample{}
	}
}
