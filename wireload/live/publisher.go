// Package live pushes a load's metrics to Prometheus while it runs, under the names that k6's metrics have there, so
// that the same dashboards show both. It uses Prometheus's receiver of OTLP, in its JSON form:
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto
package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/variable"
)

const (
	path  = "/api/v1/otlp/v1/metrics"
	every = time.Second
	// A Prometheus that takes longer misses a second; at the load's end it delays the exit by twice this much at most.
	timeout = time.Second
	// These are OTLP's names for a series without an end, and for a point without a value. Prometheus makes a stale marker
	// of it, so that lines end with the load and not five minutes later.
	cumulative = 2
	noValue    = 1
)

// client goes straight to Prometheus, as wirebench does: proxies of the environment are for the internet.
var client = &http.Client{Transport: &http.Transport{Proxy: nil}, Timeout: timeout}

// Publisher pushes the metrics of a load to a Prometheus once a second.
type Publisher struct {
	url    string
	labels []object
	// durationName is the metric of what the transport's requests take; success is their status if they succeed.
	durationName, success string

	mutex     sync.Mutex
	durations map[histogram.Key]*duration
	// Problem is why the last push failed that did.
	Problem error
}

// Counts are what a load came to so far, besides its requests.
type Counts struct {
	Users, UsersMax, Dropped, BytesSent, BytesReceived int64
}

// object is one of JSON.
type object map[string]any

// NewPublisher returns one that labels all series.
func NewPublisher(prometheus, transport string, labels map[string]string) *Publisher {
	p := &Publisher{url: strings.TrimSuffix(prometheus, "/") + path, durations: map[histogram.Key]*duration{}}
	name := map[string]string{"rest": "http", "grpc": "grpc", "socket": "wirebench_socket"}[transport]
	p.durationName, p.success = "k6_"+name+"_req_duration_seconds", map[bool]string{true: "200", false: "0"}[transport == "rest"]
	p.labels = append(p.labels, label("driver", "wireload"))
	for name, value := range labels {
		p.labels = append(p.labels, label(name, value))
	}
	return p
}

func label(name, value string) object {
	return object{"key": name, "value": object{"stringValue": value}}
}

// Add counts a request. It is safe for concurrent use.
func (p *Publisher) Add(key histogram.Key, tookNS int64) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	known := p.durations[key]
	if known == nil {
		known = &duration{}
		p.durations[key] = known
	}
	known.add(tookNS)
}

// Publish pushes until the load is over, and then its end.
func (p *Publisher) Publish(over <-chan struct{}, count func() Counts) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for isOver := false; !isOver; {
		select {
		case <-ticker.C:
		case <-over:
			isOver = true
			time.Sleep(time.Millisecond) // Prometheus rejects a second push of the same millisecond.
		}
		if err := p.push(p.metrics(count(), time.Now(), isOver)); err != nil {
			p.Problem = fmt.Errorf("live metrics: %w", err)
		}
	}
}

// metrics returns a copy under k6's names. At the end each series has its end, a millisecond later: Prometheus has no
// times that are finer.
func (p *Publisher) metrics(counts Counts, now time.Time, isOver bool) (made []object) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	add := func(name, kind string, value object, own ...object) {
		value["attributes"], value["timeUnixNano"] = slices.Concat(p.labels, own), now.UnixNano()
		points := []object{value}
		if isOver {
			after := now.Add(time.Millisecond).UnixNano()
			points = append(points, object{"attributes": value["attributes"], "timeUnixNano": after, "flags": noValue})
		}
		// Receivers ignore what a kind doesn't have.
		data := object{"dataPoints": points, "aggregationTemporality": cumulative, "isMonotonic": true}
		made = append(made, object{"name": name, kind: data})
	}
	requests := int64(0)
	for key, each := range p.durations {
		requests += each.count
		status := string(key.Code)
		if key.Code == histogram.OK {
			status = p.success
		}
		add(p.durationName, "exponentialHistogram", each.point(), label("name", key.Operation), label("status", status))
	}
	add("k6_iterations", "sum", object{"asInt": requests})
	add("k6_dropped_iterations", "sum", object{"asInt": counts.Dropped})
	add("k6_data_sent", "sum", object{"asInt": counts.BytesSent})
	add("k6_data_received", "sum", object{"asInt": counts.BytesReceived})
	add("k6_vus", "gauge", object{"asInt": counts.Users})
	add("k6_vus_max", "gauge", object{"asInt": counts.UsersMax})
	return made
}

func (p *Publisher) push(metrics []object) error {
	body, _ := json.Marshal(object{"resourceMetrics": []object{{"scopeMetrics": []object{{"metrics": metrics}}}}})
	reply, err := client.Post(p.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	words, _ := io.ReadAll(io.LimitReader(reply.Body, 1<<10))
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", p.url, reply.Status, variable.Clean(string(bytes.TrimSpace(words))))
	}
	return nil
}

const (
	// scale makes each bucket 9 % wider than the one before, as k6's are.
	scale           = 3
	bucketsInDouble = 1 << scale
	// Durations from a nanosecond to more than four minutes have buckets of their own.
	lowestBucket = -30 * bucketsInDouble
	bucketCount  = 38 * bucketsInDouble
)

// duration is an exponential histogram of seconds, which Prometheus stores as a native one.
type duration struct {
	count   int64
	sumS    float64
	buckets [bucketCount]int64
}

func (d *duration) add(ns int64) {
	seconds := float64(max(ns, 1)) / 1e9
	d.count++
	d.sumS += seconds
	bucket := int(math.Ceil(math.Log2(seconds)*bucketsInDouble)) - 1 - lowestBucket
	d.buckets[min(max(bucket, 0), bucketCount-1)]++
}

// point returns a copy as a point of OTLP.
func (d *duration) point() object {
	positive := object{"offset": lowestBucket, "bucketCounts": slices.Clone(d.buckets[:])}
	return object{"count": d.count, "sum": d.sumS, "scale": scale, "positive": positive}
}
