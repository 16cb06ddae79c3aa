package load

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
	"wirebench.dev/k6/vutest"
)

type vu struct {
	*vutest.User
	t *testing.T
}

func newVU(t *testing.T) *vu {
	t.Helper()
	return &vu{vutest.New(t, "load", New(), ""), t}
}

func (v *vu) run(script string) string {
	v.t.Helper()
	return v.Run(script).String()
}

func (v *vu) metadata() map[string]string { return v.VU.StateField.Tags.GetCurrentValues().Metadata }

func TestNothingIsDueUnderAClosedLoad(t *testing.T) {
	vu := newVU(t)
	vu.run(`load.due()`)
	if got := vu.metadata(); len(got) != 0 {
		t.Errorf("want no metadata, got %v", got)
	}
}

func TestConnectingIsChargedToTheRequestAndToNoOther(t *testing.T) {
	vu := newVU(t)
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
		vu := newVU(t)
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
	vu := newVU(t)
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
	case container := <-v.Samples:
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
