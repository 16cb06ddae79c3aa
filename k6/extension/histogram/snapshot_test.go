package histogram

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"go.k6.io/k6/metrics"
	"go.k6.io/k6/output"
	"wirebench.dev/wireload/histogram"
)

// writeSnapshot returns the snapshot that is there after a writer was called at this moment; nil if none is.
func writeSnapshot(t *testing.T, writer *snapshotWriter, fold *fold, after time.Duration) *histogram.Snapshot {
	t.Helper()
	writer.write(fold, start.Add(after))
	writer.close()
	writer.writing.Unlock()
	text, err := os.ReadFile(writer.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	read := &histogram.Snapshot{}
	if err := json.Unmarshal(text, read); err != nil {
		t.Fatal(err)
	}
	return read
}

func newSnapshotWriter(t *testing.T) *snapshotWriter {
	t.Helper()
	return &snapshotWriter{path: filepath.Join(t.TempDir(), "cell.snapshot.json")}
}

func TestASnapshotTellsOfTheLastFullSecondAlone(t *testing.T) {
	fake, fold, writer := newMaker(), newFold(histogram.Options{Warmup: 100 * ms, Window: 3500 * ms}), newSnapshotWriter(t)
	fold.add(batch{fake.ok(ms, ms), fake.ok(200*ms, 2*ms), fake.ok(300*ms, 2*ms), fake.http(400*ms, ms, "name", "users.get", "status", "404")})
	if got := writeSnapshot(t, writer, fold, 1149*ms); got != nil {
		t.Errorf("want nothing before a second's samples have come, got %+v", got)
	}
	first := writeSnapshot(t, writer, fold, 1150*ms)
	if first == nil || first.Seconds != 1 || first.Successful != 2 || first.Failed != 1 || first.Items != nil {
		t.Fatalf("want 2 that succeeded and 1 that failed, got %+v", first)
	}
	if first.Latency.Clock != "service" || !near(first.Latency.P50NS, 2*ms) || !near(first.Latency.P99NS, 2*ms) {
		t.Errorf("want 2 ms, got %+v", first.Latency)
	}
	fold.add(batch{fake.ok(1200*ms, 7*ms), fake.http(1300*ms, 7*ms, "name", "users.list", "status", "200")})
	second := writeSnapshot(t, writer, fold, 2200*ms)
	if second.Seconds != 2 || second.Successful != 2 || second.Failed != 0 || !near(second.Latency.P50NS, 7*ms) {
		t.Errorf("want both operations of the second second, and nothing of the first, got %+v, %+v", second, second.Latency)
	}
}

func TestASecondWithoutRepliesIsTold(t *testing.T) {
	fake, fold, writer := newMaker(), newFold(histogram.Options{Window: 5 * time.Second}), newSnapshotWriter(t)
	fold.add(batch{fake.ok(ms, ms)})
	writeSnapshot(t, writer, fold, 1060*ms)
	fold.add(batch{})
	if got, want := writeSnapshot(t, writer, fold, 2060*ms), (&histogram.Snapshot{Schema: "wirebench.snapshot/1", Seconds: 2}); !reflect.DeepEqual(got, want) {
		t.Errorf("want %+v, got %+v", want, got)
	}
}

func TestAPartOfASecondAtTheEndIsNotTold(t *testing.T) {
	fake, fold, writer := newMaker(), newFold(histogram.Options{Window: 1500 * ms}), newSnapshotWriter(t)
	fold.add(batch{fake.ok(ms, ms), fake.ok(1400*ms, ms)})
	if got := writeSnapshot(t, writer, fold, 5*time.Second); got.Seconds != 1 || got.Successful != 1 {
		t.Errorf("want the first second, got %+v", got)
	}
}

func TestASnapshotHasTheResponseClockWhereRequestsWereDue(t *testing.T) {
	fake, fold, writer := newMaker(), newFold(histogram.Options{Window: 2 * time.Second}), newSnapshotWriter(t)
	late := fake.ok(50*ms, 10*ms)
	late.Metadata = due(20 * ms)
	fold.add(batch{late})
	if got := writeSnapshot(t, writer, fold, 1100*ms).Latency; got.Clock != "response" || !near(got.P99NS, 30*ms) {
		t.Errorf("want 30 ms since it was due, got %+v", got)
	}
}

func TestASnapshotOfStreamsTellsOfItems(t *testing.T) {
	fake, fold, writer := newMaker(), newFold(histogram.Options{Window: 2 * time.Second}), newSnapshotWriter(t)
	fold.add(batch{fake.items(0, 0, 20*ms, 25*ms, 30*ms)})
	got := writeSnapshot(t, writer, fold, 1100*ms)
	if got.Items == nil || *got.Items != 3 || got.Latency.Clock != "gap" || !near(got.Latency.P99NS, 5*ms) {
		t.Errorf("want 3 items, 5 ms from each other, got %+v, %+v", got, got.Latency)
	}
}

func TestASecondThatIsOverWhileOneIsWrittenIsLeftOutOfTheNext(t *testing.T) {
	fake, fold, writer := newMaker(), newFold(histogram.Options{Window: 5 * time.Second}), newSnapshotWriter(t)
	writer.writing.Lock() // The disk takes its time.
	fold.add(batch{fake.ok(ms, 90*ms)})
	writer.write(fold, start.Add(1060*ms))
	writer.writing.Unlock()
	fold.add(batch{fake.ok(1200*ms, 2*ms)})
	got := writeSnapshot(t, writer, fold, 2060*ms)
	if got.Seconds != 2 || got.Successful != 1 || !near(got.Latency.P99NS, 2*ms) {
		t.Errorf("want the second second alone, got %+v, %+v", got, got.Latency)
	}
}

func TestNoSnapshotBeforeTheFirstRequest(t *testing.T) {
	if got := writeSnapshot(t, newSnapshotWriter(t), newFold(histogram.Options{Window: time.Second}), time.Hour); got != nil {
		t.Errorf("unexpected %+v", got)
	}
}

func TestALoadGoesOnWhereItsSnapshotsCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	path, snapshot := filepath.Join(folder, "cell.json"), filepath.Join(folder, "snapshot")
	if err := os.Mkdir(snapshot, 0o755); err != nil {
		t.Fatal(err)
	}
	made, err := New(output.Params{ConfigArgument: "window=10s,path=" + path + ",snapshot=" + snapshot})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Start(); err != nil {
		t.Fatal(err)
	}
	made.AddMetricSamples([]metrics.SampleContainer{newMaker().ok(ms, ms)}) // Long ago: a second is over.
	if err := made.Stop(); err != nil {
		t.Fatal(err)
	}
	if read(t, path).RequestsTotal[histogram.OK] != 1 {
		t.Error("want the request in the file")
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.tmp")); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
}
