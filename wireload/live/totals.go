// Package live pushes a load's metrics to Prometheus while it runs, under the names that k6's metrics have there, so
// that the same dashboards show both. It uses Prometheus's receiver of OTLP, in its JSON form.
package live

import (
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

// metrics returns a copy under k6's names.
func (t *Totals) metrics(labels []attribute, now time.Time) []metric {
	number := func(value int64) *data {
		return &data{Points: []point{{Attributes: labels, TimeUnixNS: now.UnixNano(), Number: &value}}}
	}
	sum := func(value int64) *data {
		made := number(value)
		made.Temporality, made.IsMonotonic = cumulative, true
		return made
	}
	made := []metric{
		{Name: "k6_iterations", Sum: sum(t.requests)},
		{Name: "k6_dropped_iterations", Sum: sum(t.Dropped)},
		{Name: "k6_data_sent", Sum: sum(t.BytesSent)},
		{Name: "k6_data_received", Sum: sum(t.BytesReceived)},
		{Name: "k6_vus", Gauge: number(t.Users)},
		{Name: "k6_vus_max", Gauge: number(t.UsersMax)},
	}
	if t.Items > 0 {
		made = append(made, metric{Name: "k6_wirebench_stream_items", Sum: sum(t.Items)})
	}
	histograms := map[string]*data{}
	for key, each := range t.durations {
		name := t.durationName(key.stream)
		if histograms[name] == nil {
			histograms[name] = &data{Temporality: cumulative}
			made = append(made, metric{Name: name, Unit: "s", Histogram: histograms[name]})
		}
		point := each.point()
		own := []attribute{label("name", key.operation), label("status", strconv.Itoa(key.status))}
		point.Attributes, point.TimeUnixNS = slices.Concat(labels, own), now.UnixNano()
		histograms[name].Points = append(histograms[name].Points, point)
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
