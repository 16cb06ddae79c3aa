package operations

import (
	"context"
	"testing"
	"time"

	"wirebench.dev/services/internal/domain"
)

type sink struct {
	ids     []int32
	flushes int
	after   func(*sink)
}

func (s *sink) Send(id int32, _ []byte) error {
	s.ids = append(s.ids, id)
	if s.after != nil {
		s.after(s)
	}
	return nil
}

func (s *sink) Flush() error {
	s.flushes++
	return nil
}

func open(t *testing.T, body string) *Stream {
	t.Helper()
	stream, err := OpenTransactions(domain.NewApplication(), JSON{}, JSON{}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// All items come in their order, and what is in a buffer is handed over in the end.
func TestRunToTheEnd(t *testing.T) {
	to := &sink{}
	outcome := open(t, `{"limit": 3}`).Run(t.Context(), t.Context(), to)
	if outcome.Code != domain.OK || len(to.ids) != 3 || to.ids[2] != 3 || to.flushes != 1 {
		t.Errorf("%+v, %+v", outcome, to)
	}
}

// The client's end and the service's end a stream at once, each with words of its own, also while nothing is due.
func TestEnds(t *testing.T) {
	for name, expected := range map[string]Outcome{"client": cancelled, "service": stopped} {
		ctx, cancel := context.WithCancel(t.Context())
		stopping, stop := context.WithCancel(t.Context())
		end := map[string]func(){"client": cancel, "service": stop}[name]
		to := &sink{after: func(*sink) { time.AfterFunc(20*time.Millisecond, end) }}
		begun := time.Now()
		outcome := open(t, `{"rate_limit": 1}`).Run(ctx, stopping, to)
		if outcome.Message != expected.Message || len(to.ids) != 1 || to.flushes != 1 || time.Since(begun) > time.Second/2 {
			t.Errorf("%s: %+v, %+v", name, outcome, to)
		}
		cancel()
		stop()
	}
}

// The first item is due at once, and the others one interval after the other, however coarse timers are.
func TestPace(t *testing.T) {
	p := newPace(10_000)
	now := p.due
	taken := 0
	for range 1000 {
		if wait := p.take(now); wait > 0 {
			now = now.Add(wait)
		}
		taken++
	}
	if lasted := now.Sub(p.due.Add(-1000 * p.interval)); lasted < 95*time.Millisecond || lasted > 105*time.Millisecond {
		t.Errorf("%d items took %v", taken, lasted)
	}
}

// A client that has not read for a while is not sent all at once what it has missed.
func TestCatchUp(t *testing.T) {
	p := newPace(100)
	later := p.due.Add(time.Hour)
	atOnce := 0
	for p.take(later) == 0 {
		atOnce++
	}
	if atOnce < 9 || atOnce > 12 {
		t.Errorf("%d at once", atOnce)
	}
}
