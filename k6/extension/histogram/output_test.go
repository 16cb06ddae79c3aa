package histogram

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/metrics"
	"go.k6.io/k6/output"
	"wirebench.dev/wireload/histogram"
)

func TestALoadWithoutRequestsHasAFileWithoutAWindow(t *testing.T) {
	got := folded(t, "window=1s")
	if got.Window != nil || len(got.Series) != 0 || len(got.RequestsTotal) != 0 || got.Schema != "wirebench.histograms/1" {
		t.Errorf("unexpected %+v", got)
	}
}

func TestAFileMayHaveACommaInItsName(t *testing.T) {
	got, err := parseConfig("path=a%2Cb%25/c.json,window=1s,snapshot=%2C.json")
	if err != nil || got.path != "a,b%/c.json" || got.snapshot != ",.json" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestBytesAreAbsentWhereNobodyCountedThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.json")
	made, err := newFold(histogram.Options{Window: time.Second}).report("1", start)
	if err != nil {
		t.Fatal(err)
	}
	temporary, err := histogram.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Write(temporary, path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "bytes_") {
		t.Errorf("unexpected bytes in %s", text)
	}
}

func TestAnInterruptedLoadHasAShorterWindow(t *testing.T) {
	fake := newMaker()
	fold := newFold(histogram.Options{Warmup: time.Second, Window: 10 * time.Second})
	fold.add(batch{fake.ok(ms, ms), fake.ok(1500*ms, ms)})
	made, err := fold.report("1", start.Add(3200*ms))
	if err != nil {
		t.Fatal(err)
	}
	if want := start.Add(3200 * ms).UnixNano(); made.Window.EndUnixNS != want {
		t.Errorf("want the end at %d, got %d", want, made.Window.EndUnixNS)
	}
	if got := len(made.PerSecond[0].Counts); got != 3 {
		t.Errorf("want two seconds and a part, got %d", got)
	}
	made, err = fold.report("1", start.Add(500*ms)) // Stopped in the warm-up.
	if err != nil || made.Window.EndUnixNS != made.Window.StartUnixNS {
		t.Errorf("want an empty window, got %v, error %v", made.Window, err)
	}
}

func TestOnlyTheWholeFileIsEverThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.json")
	made, err := New(output.Params{ConfigArgument: "window=1s,path=" + path})
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Start(); err != nil {
		t.Fatal(err)
	}
	made.AddMetricSamples([]metrics.SampleContainer{newMaker().ok(ms, ms)})
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("want no file before the end, got %v", err)
	}
	if err := made.Stop(); err != nil {
		t.Fatal(err)
	}
	if read(t, path).RequestsTotal[histogram.OK] != 1 {
		t.Error("want the request in the file")
	}
	if left, _ := filepath.Glob(filepath.Dir(path) + "/*.tmp"); len(left) != 0 {
		t.Errorf("left behind %v", left)
	}
}

func TestAPathThatCannotBeWrittenFailsAtTheStart(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "no", "cell.json"), t.TempDir()} {
		made, err := New(output.Params{ConfigArgument: "window=1s,path=" + path})
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Start(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("want an error that names %s, got %v", path, err)
		}
	}
}

func TestArgumentsThatMakeNoSenseAreRefused(t *testing.T) {
	for argument, words := range map[string]string{
		"":                                 "there are path, warmup, window, by, slices, calls, warmup_calls and snapshot",
		"window=1s":                        "path=FILE is missing",
		"path=x":                           "window=DURATION must be given",
		"path=x,window=soon":               "window=soon",
		"path=x,window=-1s":                "positive",
		"path=x,window=1s,warmup=-1s":      "negative",
		"path=x,window=1s,warmup=1s,foo=1": "foo=1",
		"path=x,window=1s,by=start":        "one of due, end",
		"path=x,window=1s,slices=101":      "0 to 100",
		"path=x,window=1s,slices=-1":       "0 to 100",
		"path=x,window=1s,warmup_calls=-1": "negative",
	} {
		if _, err := New(output.Params{ConfigArgument: argument}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: want %q, got %v", argument, words, err)
		}
	}
}
