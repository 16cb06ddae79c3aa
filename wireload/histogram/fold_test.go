package histogram

import (
	"fmt"
	"testing"
	"time"
)

const start = int64(1_700_000_000_000_000_000)

func TestWhatIsHeldDoesNotGrowWithErrors(t *testing.T) {
	fold := NewFold(Options{Window: time.Second})
	for i := range 5000 {
		fold.Add(Key{"users.get", Unavailable}, Request{EndUnixNS: start, ServiceNS: 1000})
		fold.AddReason(Unavailable, fmt.Sprint("error ", i))
	}
	if len(fold.reasons) > reasonsMax {
		t.Errorf("held %d reasons", len(fold.reasons))
	}
	if made := fold.Report(Driver{}, start); made.RequestsTotal[Unavailable] != 5000 {
		t.Errorf("want every request counted all the same, got %v", made.RequestsTotal)
	}
}
