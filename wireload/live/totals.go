// Package live pushes a load's metrics to Prometheus while it runs, under the names that k6's metrics have there, so
// that the same dashboards show both. It uses Prometheus's receiver of OTLP, in its JSON form.
package live

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"wirebench.dev/wireload/histogram"
)

// Request is what is known of a request that has ended.
type Request struct {
	Operation string
	Code      histogram.Code
	// HTTPStatus is 0 where there was no reply, and on other transports.
	HTTPStatus int
	Stream     bool
	TookNS     int64
}

// Totals are what a load came to so far. They are not safe for concurrent use.
type Totals struct {
	transport string
	durations map[durationKey]*duration
	requests  int64

	Users, UsersMax          int64
	Dropped, Items           int64
	BytesSent, BytesReceived int64
}

type durationKey struct {
	operation string
	status    int
	stream    bool
}

// Add counts a request.
func (t *Totals) Add(r Request) {
	status := r.HTTPStatus
	switch {
	case t.transport != "rest":
		status = r.Code.GRPC()
	case r.Code == histogram.OK && status/100 != 2:
		status = 200 // What the application expects is a success, and dashboards know no more than the status.
	}
	key := durationKey{r.Operation, status, r.Stream}
	known, ok := t.durations[key]
	if !ok {
		known = &duration{}
		t.durations[key] = known
	}
	known.add(r.TookNS)
	t.requests++
}

// metric is one of OTLP in its JSON form, of a kind that has its points:
// https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/metrics/v1/metrics.proto
type metric struct {
	name, kind string
	points     []object
}

type object = map[string]any

// These are OTLP's names for a series without an end, and for a point without a value. Prometheus makes a stale marker of
// it, so that lines end with the load and not five minutes later.
const (
	cumulative = 2
	noValue    = 1
)

// MarshalJSON returns the metric with its points.
func (m metric) MarshalJSON() ([]byte, error) {
	data := object{"dataPoints": m.points}
	unit := ""
	switch m.kind {
	case "sum":
		data["aggregationTemporality"], data["isMonotonic"] = cumulative, true
	case "exponentialHistogram":
		data["aggregationTemporality"] = cumulative
		unit = "s"
	}
	return json.Marshal(object{"name": m.name, "unit": unit, m.kind: data})
}

func label(name, value string) object {
	return object{"key": name, "value": object{"stringValue": value}}
}

// metrics returns a copy under k6's names. With `over`, each series has its end, a millisecond later: Prometheus has no
// times that are finer.
func (t *Totals) metrics(labels []object, now time.Time, over bool) (made []metric) {
	places := map[string]int{}
	add := func(name, kind string, value object, own ...object) {
		place, isKnown := places[name]
		if !isKnown {
			place, places[name] = len(made), len(made)
			made = append(made, metric{name: name, kind: kind})
		}
		value["attributes"], value["timeUnixNano"] = slices.Concat(labels, own), strconv.FormatInt(now.UnixNano(), 10)
		made[place].points = append(made[place].points, value)
		if over {
			after := strconv.FormatInt(now.Add(time.Millisecond).UnixNano(), 10)
			made[place].points = append(made[place].points, object{"attributes": value["attributes"], "timeUnixNano": after, "flags": noValue})
		}
	}
	number := func(value int64) object { return object{"asInt": strconv.FormatInt(value, 10)} }
	add("k6_iterations", "sum", number(t.requests))
	add("k6_dropped_iterations", "sum", number(t.Dropped))
	add("k6_data_sent", "sum", number(t.BytesSent))
	add("k6_data_received", "sum", number(t.BytesReceived))
	add("k6_vus", "gauge", number(t.Users))
	add("k6_vus_max", "gauge", number(t.UsersMax))
	if t.Items > 0 {
		add("k6_wirebench_stream_items", "sum", number(t.Items))
	}
	for key, each := range t.durations {
		own := []object{label("name", key.operation), label("status", strconv.Itoa(key.status))}
		add(t.durationName(key.stream), "exponentialHistogram", each.point(), own...)
	}
	return made
}

func (t *Totals) durationName(stream bool) string {
	switch {
	case stream:
		return "k6_wirebench_stream_req_duration"
	case t.transport == "rest":
		return "k6_http_req_duration"
	case t.transport == "grpc":
		return "k6_grpc_req_duration"
	}
	return "k6_wirebench_socket_req_duration"
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

// point returns a copy of what is in use.
func (d *duration) point() object {
	used := func(count int64) bool { return count > 0 }
	first, end := slices.IndexFunc(d.buckets[:], used), bucketCount
	for !used(d.buckets[end-1]) {
		end--
	}
	positive := object{"offset": first + lowestBucket, "bucketCounts": slices.Clone(d.buckets[first:end])}
	return object{"count": strconv.FormatInt(d.count, 10), "sum": d.sumS, "scale": scale, "positive": positive}
}
