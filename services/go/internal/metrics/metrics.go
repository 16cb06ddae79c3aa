// Package metrics counts requests, and reports what the process uses.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Unknown is the operation of requests that name none, so that clients can't create labels.
const Unknown = "unknown"

// The only worker: a process in Go uses many cores.
const worker = "0"

// Upper bounds of the latency buckets, in seconds.
var bucketsSeconds = []float64{
	0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
}

var codeNames = map[codes.Code]string{
	codes.OK: "ok", codes.InvalidArgument: "invalid_argument", codes.NotFound: "not_found",
	codes.AlreadyExists: "already_exists", codes.ResourceExhausted: "resource_exhausted",
	codes.Unimplemented: "unimplemented", codes.DeadlineExceeded: "deadline_exceeded",
	codes.Unavailable: "unavailable", codes.Internal: "internal", codes.Canceled: "cancelled",
}

// Requests counts the requests of a transport; safe for concurrent use.
type Requests struct {
	requests                    *prometheus.CounterVec
	duration                    *prometheus.HistogramVec
	requestBytes, responseBytes *prometheus.CounterVec
}

// NewRequests registers the metrics of a transport.
func NewRequests(registry *prometheus.Registry, transport string) *Requests {
	labels := prometheus.Labels{"transport": transport}
	counter := func(name, help string, names ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, names)
	}
	r := &Requests{
		requests: counter("wirebench_requests_total", "Requests answered.", "operation", "code", "worker"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "wirebench_request_duration_seconds", Help: "From the request read to the reply written.",
			Buckets: bucketsSeconds, ConstLabels: labels,
		}, []string{"operation"}),
		requestBytes:  counter("wirebench_request_bytes_total", "Bytes of request bodies.", "operation"),
		responseBytes: counter("wirebench_response_bytes_total", "Bytes of reply bodies.", "operation"),
	}
	registry.MustRegister(r.requests, r.duration, r.requestBytes, r.responseBytes)
	return r
}

// Observe counts a request that began at a time and ended with an error, or with nil.
func (r *Requests) Observe(operation string, err error, begun time.Time, requestBytes, responseBytes int) {
	code, ok := codeNames[status.Code(err)]
	if !ok {
		code = codeNames[codes.Internal]
	}
	r.requests.WithLabelValues(operation, code, worker).Inc()
	r.duration.WithLabelValues(operation).Observe(time.Since(begun).Seconds())
	r.requestBytes.WithLabelValues(operation).Add(float64(requestBytes))
	r.responseBytes.WithLabelValues(operation).Add(float64(responseBytes))
}
