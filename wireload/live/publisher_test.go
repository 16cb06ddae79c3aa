package live

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"wirebench.dev/wireload/histogram"
)

// newPublisher returns one of a Prometheus.
func newPublisher(t *testing.T, transport string, prometheus http.HandlerFunc) *Publisher {
	t.Helper()
	server := httptest.NewServer(prometheus)
	t.Cleanup(server.Close)
	return NewPublisher(server.URL, transport, map[string]string{"pod": "load-0"})
}

// publishEnd has a load that is over push its end.
func publishEnd(p *Publisher) error {
	over := make(chan struct{})
	close(over)
	p.Publish(over, func() Counts { return Counts{} })
	return p.Problem
}

func TestEachRequestIsInAHistogramOfItsStatus(t *testing.T) {
	var got []byte
	p := newPublisher(t, "socket", func(_ http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) })
	for range 3 {
		p.Add(histogram.Key{Operation: "get", Code: histogram.OK}, 2_000_000)
	}
	p.Add(histogram.Key{Operation: "get", Code: histogram.NotFound}, 1)
	if err := publishEnd(p); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		`"name":"k6_wirebench_socket_req_duration_seconds"`:  2,
		`"key":"status","value":{"stringValue":"0"}`:         2, // The value, and its end.
		`"key":"status","value":{"stringValue":"not_found"}`: 2,
		`"key":"name","value":{"stringValue":"get"}`:         4,
		`"count":3`:              1,
		`"count":1`:              1,
		`"asInt":4`:              1,
		`"stringValue":"load-0"`: 16,
		`"flags":1`:              8,
	} {
		if count := bytes.Count(got, []byte(text)); count != want {
			t.Errorf("want %d times %s, got %d: %s", want, text, count, got)
		}
	}
}

// TestBucketsHoldTheirDurations follows OTLP: bucket n of scale s has all beyond 2^(n/2^s), up to 2^((n+1)/2^s).
func TestBucketsHoldTheirDurations(t *testing.T) {
	for _, ns := range []int64{2, 999, 1_000_000, 123_456_789, 1e9, 59e9} {
		var taken duration
		taken.add(ns)
		place := slices.IndexFunc(taken.buckets[:], func(count int64) bool { return count > 0 })
		offset := place + lowestBucket
		seconds := float64(ns) / 1e9
		least := math.Exp2(float64(offset) / bucketsInDouble)
		most := math.Exp2(float64(offset+1) / bucketsInDouble)
		if seconds <= least*0.999999 || seconds > most*1.000001 {
			t.Errorf("%d ns are in the bucket from %v to %v s", ns, least, most)
		}
	}
	for _, ns := range []int64{-1, 0, math.MaxInt64} {
		var taken duration
		taken.add(ns)
		if taken.count != 1 {
			t.Errorf("%d ns were not counted", ns)
		}
	}
}

func TestAPrometheusThatDoesNotTakeItIsAProblemOfOneLine(t *testing.T) {
	for want, prometheus := range map[string]http.HandlerFunc{
		"404 Not Found":     http.NotFound,
		"deadline exceeded": func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
	} {
		problem := publishEnd(newPublisher(t, "rest", prometheus))
		if problem == nil || !strings.Contains(problem.Error(), want) || strings.Contains(problem.Error(), "\n") {
			t.Errorf("want %s, got %v", want, problem)
		}
	}
}
