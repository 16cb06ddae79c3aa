package live

import (
	"encoding/json"
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
	type point struct {
		Attributes []struct {
			Key   string
			Value struct{ StringValue string }
		}
		Flags int
		Count int64
	}
	var got struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name                 string
					ExponentialHistogram struct{ DataPoints []point }
				}
			}
		}
	}
	p := newPublisher(t, "socket", func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		p.Add(histogram.Key{Operation: "get", Code: histogram.OK}, 2_000_000)
	}
	p.Add(histogram.Key{Operation: "get", Code: histogram.NotFound}, 1)
	if err := publishEnd(p); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, each := range got.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		if each.Name != "k6_wirebench_socket_req_duration_seconds" {
			continue
		}
		for _, point := range each.ExponentialHistogram.DataPoints {
			labels := map[string]string{}
			for _, attribute := range point.Attributes {
				labels[attribute.Key] = attribute.Value.StringValue
			}
			if point.Flags == noValue {
				counts["ends"]++
				continue
			}
			if labels["pod"] != "load-0" || labels["driver"] != "wireload" || labels["name"] != "get" {
				t.Errorf("got %v", labels)
			}
			counts[labels["status"]] += point.Count
		}
	}
	if len(counts) != 3 || counts["0"] != 3 || counts["not_found"] != 1 || counts["ends"] != 2 {
		t.Errorf("want 3 successes, one that found nothing, and the end of both, got %v", counts)
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
