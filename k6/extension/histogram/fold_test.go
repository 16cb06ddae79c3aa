package histogram

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
	"wirebench.dev/wireload/histogram"
)

const ms = time.Millisecond

type batch = []metrics.SampleContainer

func TestARequestBelongsToTheWindowIfItEndedInIt(t *testing.T) {
	fake := newMaker()
	// The first is sent at the start: the window is from 500 ms on and before 2 s.
	got := folded(t, "warmup=500ms,window=1500ms", batch{
		fake.ok(10*ms, 10*ms),
		fake.ok(500*ms-1, ms),
		fake.ok(500*ms, 400*ms), // Sent before the window, ended at its first moment.
		fake.ok(1999*ms, ms),
		fake.ok(2000*ms-1, ms),
		fake.ok(2000*ms, ms),
	})
	if want := (histogram.Window{StartUnixNS: start.Add(500 * ms).UnixNano(), EndUnixNS: start.Add(2000 * ms).UnixNano()}); *got.Window != want {
		t.Errorf("want window %v, got %v", want, *got.Window)
	}
	if count := got.find(t, "users.get", histogram.OK, "service").TotalCount(); count != 3 {
		t.Errorf("want 3 in the window, got %d", count)
	}
	if got.RequestsTotal[histogram.OK] != 6 {
		t.Errorf("want all 6 in requests_total, got %d", got.RequestsTotal[histogram.OK])
	}
}

func TestANumberOfCallsIsKeptOneByOneAndEndsTheWindow(t *testing.T) {
	fake := newMaker()
	got := folded(t, "window=60s,calls=3", batch{fake.ok(10*ms, 4*ms), fake.ok(15*ms, 2*ms), fake.ok(40*ms, 3*ms)})
	if want := (histogram.Window{StartUnixNS: start.Add(6 * ms).UnixNano(), EndUnixNS: start.Add(40*ms).UnixNano() + 1}); *got.Window != want {
		t.Errorf("want the window from the first sending to the last end, %v, got %v", want, *got.Window)
	}
	if count := got.find(t, "users.get", histogram.OK, "service").TotalCount(); count != 3 {
		t.Errorf("want all 3 in the window, got %d", count)
	}
	want := []histogram.FileCalls{{Operation: "users.get", Code: histogram.OK, LatenciesNS: []int64{int64(4 * ms), int64(2 * ms), int64(3 * ms)}}}
	if !reflect.DeepEqual(got.Calls, want) {
		t.Errorf("want each call's time in their order, got %v", got.Calls)
	}
}

func TestTheFirstRequestSentOpensTheWindowWhateverTheOrderOfTheBatch(t *testing.T) {
	fake := newMaker()
	got := folded(t, "warmup=100ms,window=1s",
		batch{fake.value(metrics.DataSentName, -ms, 1)}, // No request yet: decides nothing.
		batch{fake.ok(30*ms, 5*ms), fake.ok(40*ms, 40*ms), fake.ok(35*ms, ms)},
		batch{fake.ok(60*ms, 70*ms)}, // Sent before all, but comes too late to move the window.
	)
	if want := start.Add(100 * ms).UnixNano(); got.Window.StartUnixNS != want {
		t.Errorf("want the window to start at %d, got %d", want, got.Window.StartUnixNS)
	}
}

func TestServiceTimeOfHTTPIncludesConnecting(t *testing.T) {
	fake := newMaker()
	trail := fake.ok(20*ms, 2*ms)
	trail.ConnDuration = 3 * ms // Connecting and the TLS handshake.
	got := folded(t, "window=1s", batch{trail}).find(t, "users.get", histogram.OK, "service").Max()
	if !near(got, 5*ms) {
		t.Errorf("want 5ms, got %s", time.Duration(got))
	}
}

func TestServiceTimeOfGRPCIncludesConnectingWhereItIsGiven(t *testing.T) {
	fake := newMaker()
	plain := fake.value(metrics.GRPCReqDurationName, 10*ms, 2, "name", "users.get", "status", "0")
	opened := fake.value(metrics.GRPCReqDurationName, 20*ms, 2, "name", "users.get", "status", "0")
	opened.Metadata = map[string]string{sample.ConnectingMetadata: "3000000"}
	got := folded(t, "window=1s", batch{plain, opened}).find(t, "users.get", histogram.OK, "service")
	if !near(got.Min(), 2*ms) || !near(got.Max(), 5*ms) {
		t.Errorf("want 2ms and 5ms, got %d and %d", got.Min(), got.Max())
	}
}

func TestBothClocksAreFoldedWhereARequestWasDue(t *testing.T) {
	fake := newMaker()
	late := fake.ok(50*ms, 10*ms)
	late.Metadata = due(20 * ms)
	socket := fake.value(sample.SocketDurationMetric, 60*ms, 5, "name", "users.get", "status", "0")
	socket.Metadata = due(58 * ms) // After it was sent, which can't be: the service time stands.
	got := folded(t, "window=1s", batch{late, socket})
	service, response := got.find(t, "users.get", histogram.OK, "service"), got.find(t, "users.get", histogram.OK, "response")
	if !near(service.Max(), 10*ms) || !near(response.Max(), 30*ms) {
		t.Errorf("want 10ms of service and 30ms of response, got %d and %d", service.Max(), response.Max())
	}
	if service.TotalCount() != 2 || !near(response.Min(), 5*ms) {
		t.Errorf("want response never below service, got %d", response.Min())
	}
}

func TestAClosedLoadHasNoResponseClock(t *testing.T) {
	fake := newMaker()
	for _, series := range folded(t, "window=1s", batch{fake.ok(ms, ms)}).Series {
		if series.Clock != "service" {
			t.Errorf("unexpected %v", series)
		}
	}
}

func TestCodes(t *testing.T) {
	for status, want := range map[string]histogram.Code{
		"200": histogram.OK, "201": histogram.OK, "204": histogram.OK, "302": histogram.Unknown, "400": histogram.InvalidArgument, "415": histogram.InvalidArgument, "404": histogram.NotFound,
		"405": histogram.Unimplemented, "409": histogram.AlreadyExists, "413": histogram.ResourceExhausted, "500": histogram.Internal,
		"503": histogram.Unavailable, "418": histogram.Unknown, "": histogram.Unknown, "0": histogram.Unavailable,
	} {
		if got := codeOfHTTP(status, "1212"); got != want {
			t.Errorf("HTTP %q: want %s, got %s", status, want, got)
		}
	}
	for _, timedOut := range []string{"1050", "1211"} {
		if got := codeOfHTTP("0", timedOut); got != histogram.DeadlineExceeded {
			t.Errorf("error code %s: want %s, got %s", timedOut, histogram.DeadlineExceeded, got)
		}
	}
	for status, want := range map[string]histogram.Code{
		"0": histogram.OK, "1": histogram.Cancelled, "2": histogram.Unknown, "3": histogram.InvalidArgument, "4": histogram.DeadlineExceeded,
		"5": histogram.NotFound, "6": histogram.AlreadyExists, "7": histogram.Unknown, "8": histogram.ResourceExhausted,
		"12": histogram.Unimplemented, "13": histogram.Internal, "14": histogram.Unavailable, "": histogram.Unknown,
	} {
		if got := codeOfGRPC(status); got != want {
			t.Errorf("gRPC %q: want %s, got %s", status, want, got)
		}
	}
}

func TestOperationsCodesAndTransportsAreKeptApart(t *testing.T) {
	fake := newMaker()
	got := folded(t, "window=1s", batch{
		fake.ok(ms, ms),
		fake.http(2*ms, ms, "name", "users.get", "status", "404"),
		fake.http(3*ms, ms, "name", "users.create", "status", "201"),
		fake.value(metrics.GRPCReqDurationName, 4*ms, 1, "name", "users.get", "status", "5"),
		fake.value(sample.FailedDurationMetric, 5*ms, 1, "name", "users.get", "status", "14"),
	})
	want := map[histogram.Code]int64{histogram.OK: 2, histogram.NotFound: 2, histogram.Unavailable: 1}
	if !reflect.DeepEqual(got.RequestsTotal, want) {
		t.Errorf("want %v, got %v", want, got.RequestsTotal)
	}
	if count := got.find(t, "users.get", histogram.NotFound, "service").TotalCount(); count != 2 {
		t.Errorf("want both transports' not_found, got %d", count)
	}
}

func TestEverySecondOfTheWindowIsCounted(t *testing.T) {
	fake := newMaker()
	got := folded(t, "window=2500ms", batch{
		fake.ok(ms, ms), fake.ok(999*ms, ms), fake.ok(1000*ms, ms), fake.ok(2499*ms, ms), fake.ok(2500*ms, ms),
		fake.http(1500*ms, ms, "name", "users.get", "status", "404"),
	})
	want := []histogram.FilePerSecond{
		{Operation: "users.get", Code: histogram.NotFound, Counts: []int64{0, 1, 0}},
		{Operation: "users.get", Code: histogram.OK, Counts: []int64{2, 1, 1}},
	}
	if !reflect.DeepEqual(got.PerSecond, want) {
		t.Errorf("want %v, got %v", want, got.PerSecond)
	}
}

func TestLongerThanAMinuteCountsAsAMinute(t *testing.T) {
	fake := newMaker()
	got := folded(t, "warmup=1m,window=1m", batch{fake.ok(90*time.Second, 90*time.Second)})
	if max := got.find(t, "users.get", histogram.OK, "service").Max(); !near(max, time.Minute) {
		t.Errorf("want 60s, got %s", time.Duration(max))
	}
}

func TestCountersAreSummed(t *testing.T) {
	fake := newMaker()
	got := folded(t, "window=1s", batch{
		fake.ok(ms, ms), fake.ok(2*ms, ms),
		metrics.Samples{fake.value(metrics.DataSentName, ms, 100), fake.value(metrics.DataReceivedName, ms, 300)},
		metrics.Samples{fake.value(metrics.DataSentName, ms, 11), fake.value(metrics.DataReceivedName, ms, 22)},
		fake.value(metrics.DroppedIterationsName, ms, 1), fake.value(metrics.DroppedIterationsName, ms, 1),
		fake.value(sample.MismatchesMetric, ms, 1),
		fake.value(metrics.IterationDurationName, ms, 7),
	})
	if want := (histogram.Bytes{Sent: 111, Received: 322, Requests: 2}); *got.Bytes != want {
		t.Errorf("want %v, got %v", want, *got.Bytes)
	}
	if got.DroppedIterations != 2 || got.Mismatches != 1 {
		t.Errorf("want 2 dropped and 1 mismatch, got %d and %d", got.DroppedIterations, got.Mismatches)
	}
}

func TestTheMostFrequentErrorsAreNamed(t *testing.T) {
	fake := newMaker()
	var samples batch
	for i := range 12 {
		for range i + 1 {
			samples = append(samples, fake.http(ms, ms, "name", "a", "status", "0", "error_code", "1212", "error", fmt.Sprint("e", i)))
		}
	}
	reason := fake.value(sample.ReasonsMetric, ms, 1, "status", "13")
	reason.Metadata = map[string]string{sample.ErrorMetadata: "why"}
	failed := fake.value(sample.SocketDurationMetric, ms, 1, "name", "a", "status", "14")
	failed.Metadata = map[string]string{sample.ErrorMetadata: "hung up"}
	for range 20 {
		samples = append(samples, reason, failed, failed)
	}
	samples = append(samples, fake.http(ms, ms, "name", "a", "status", "404"))
	got := folded(t, "window=1s", samples).Errors
	if len(got) != 10 {
		t.Fatalf("want %d, got %d", 10, len(got))
	}
	want := []histogram.FileError{{Code: histogram.Unavailable, Message: "hung up", Count: 40}, {Code: histogram.Internal, Message: "why", Count: 20}, {Code: histogram.Unavailable, Message: "e11", Count: 12}}
	if !reflect.DeepEqual(got[:3], want) {
		t.Errorf("want %v, got %v", want, got[:3])
	}
}

func TestTheMomentsOfTheFirstAndTheLastFailureAreKept(t *testing.T) {
	fake := newMaker()
	failed := func(after time.Duration) *httpext.Trail {
		return fake.http(after, ms, "name", "users.get", "status", "503")
	}
	got := folded(t, "window=1s", batch{fake.ok(ms, ms), failed(20 * ms), failed(40 * ms)}, batch{failed(30 * ms), fake.ok(90*ms, ms)})
	want := histogram.Window{StartUnixNS: start.Add(20 * ms).UnixNano(), EndUnixNS: start.Add(40 * ms).UnixNano()}
	if got.Failures == nil || *got.Failures != want {
		t.Errorf("want %v, got %v", want, got.Failures)
	}
}

func TestAFailureWithoutWordsIsNamedByItsStatus(t *testing.T) {
	fake := newMaker()
	got := folded(t, "window=1s", batch{fake.http(ms, ms, "name", "a", "status", "404")}).Errors
	if want := []histogram.FileError{{Code: histogram.NotFound, Message: "HTTP status 404", Count: 1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}

func TestTwoFilesMergeToWhatOneWouldHaveHeld(t *testing.T) {
	fake := newMaker()
	var odd, even, all batch
	for i := range 1000 {
		request := fake.ok(ms, time.Duration(i*i+1)*time.Microsecond)
		all = append(all, request)
		if i%2 == 0 {
			even = append(even, request)
		} else {
			odd = append(odd, request)
		}
	}
	histogram := func(samples batch) *hdr.Histogram {
		return folded(t, "warmup=0s,window=10s", append(batch{fake.ok(ms, time.Second)}, samples...)).
			find(t, "users.get", histogram.OK, "service")
	}
	merged, want := histogram(odd), histogram(all)
	if dropped := merged.Merge(histogram(even)); dropped != 0 {
		t.Errorf("%d values did not fit", dropped)
	}
	if err := want.RecordValue(int64(time.Second)); err != nil { // The opening request is in both halves.
		t.Fatal(err)
	}
	if !merged.Equals(want) {
		t.Errorf("want p50 %d, got %d", want.ValueAtPercentile(50), merged.ValueAtPercentile(50))
	}
}

func TestByDueARequestBelongsToTheWindowThatItWasDueIn(t *testing.T) {
	fake := newMaker()
	at := func(due0, end time.Duration) *httpext.Trail {
		made := fake.ok(end, ms)
		made.Metadata = due(due0)
		return made
	}
	// The window is from 500 ms to 2.5 s.
	asked := "warmup=500ms,window=2s,by=due,slices=4"
	got := folded(t, asked, batch{
		fake.ok(ms, ms), // Opens the window: no load of arrivals has begun in this process.
		at(499*ms, 600*ms), at(500*ms, 501*ms), at(1100*ms, 2600*ms), at(2499*ms, 9000*ms), at(2500*ms, 2501*ms),
	})
	if count := got.find(t, "users.get", histogram.OK, "response").TotalCount(); count != 3 {
		t.Errorf("want 3 that were due in the window, got %d", count)
	}
	if want := []int64{2, 1}; !reflect.DeepEqual(want, got.PerSecond[0].Counts) {
		t.Errorf("want %v due in each second, got %v", want, got.PerSecond[0].Counts)
	}
	slices := got.Slices[0].Histograms
	if len(slices) != 4 || slices[2] != "" {
		t.Fatalf("want four slices, and none in the third, got %q", slices)
	}
	for place, want := range map[int]time.Duration{0: ms, 1: 1500 * ms, 3: 6501 * ms} {
		found, err := hdr.Decode([]byte(slices[place]))
		if err != nil || found.TotalCount() != 1 || !near(found.Max(), want) {
			t.Errorf("slice %d: want a response time of %s, got %v, error %v", place, want, found, err)
		}
	}
}
