package load

import (
	"testing"
	"time"

	"go.k6.io/k6/lib"
)

var start = time.Unix(1_700_000_000, 0)

func TestIterationsAreDueOnePeriodAfterTheOther(t *testing.T) {
	schedule := newSchedule(start, 500, time.Second, 0, []int64{1})
	for n, want := range map[int64]time.Duration{0: 0, 1: 2 * time.Millisecond, 7501: 15002 * time.Millisecond} {
		if got := schedule.due(n).Sub(start); got != want {
			t.Errorf("iteration %d: want %s, got %s", n, want, got)
		}
	}
}

func TestThePeriodIsAWholeNumberOfNanosecondsAsInK6(t *testing.T) {
	schedule := newSchedule(start, 3, time.Second, 0, []int64{1})
	if got, want := schedule.due(3).Sub(start), 999_999_999*time.Nanosecond; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

func TestSegmentsShareTheScheduleWithoutGapsOrOverlaps(t *testing.T) {
	sequence, err := lib.NewExecutionSegmentSequenceFromString("0,1/3,1/2,1")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[time.Duration]int{}
	for i := range sequence {
		tuple, err := lib.NewExecutionTuple(sequence[i], &sequence)
		if err != nil {
			t.Fatal(err)
		}
		first, offsets, _ := tuple.GetStripedOffsets()
		schedule := newSchedule(start, 1000, time.Second, first, offsets)
		for n := range int64(600) {
			taken[schedule.due(n).Sub(start)]++
		}
	}
	for moment := range 600 {
		if got := taken[time.Duration(moment)*time.Millisecond]; got != 1 {
			t.Fatalf("%d ms: want one iteration of all segments, got %d", moment, got)
		}
	}
}
