package platform

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"wirebench.dev/services/internal/domain"
)

// Unknown is the operation that requests without one are counted as, so that no client can invent labels.
const Unknown = "unknown"

// The only worker that there is.
const worker = "0"

// Upper bounds of the latency buckets, in seconds: 50 µs to 10 s, three a decade.
var bucketsSeconds = []float64{
	0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
}

// Recorder counts what a service does; safe for use by many goroutines at once.
type Recorder struct {
	inFlight prometheus.Gauge
	// All that there can be are made at the start: to look a metric up by its labels would cost more than to count.
	series map[string]series
}

type series struct {
	requests                              []prometheus.Counter // by code
	duration, requestBytes, responseBytes prometheus.Observer
}

// NewRecorder registers the metrics of a transport that has these operations.
func NewRecorder(registry prometheus.Registerer, transport string, operations []string) *Recorder {
	labels := prometheus.Labels{"transport": transport}
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wirebench_requests_total", Help: "Requests answered.", ConstLabels: labels,
	}, []string{"operation", "code", "worker"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "wirebench_request_duration_seconds", Help: "From the request read to the reply handed over.",
		Buckets: bucketsSeconds, ConstLabels: labels,
	}, []string{"operation"})
	requestBytes := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: "wirebench_request_bytes", Help: "Size of request bodies.", ConstLabels: labels,
	}, []string{"operation"})
	responseBytes := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: "wirebench_response_bytes", Help: "Size of reply bodies.", ConstLabels: labels,
	}, []string{"operation"})
	recorder := &Recorder{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "wirebench_in_flight_requests", Help: "Requests read and not yet answered.", ConstLabels: labels,
		}),
		series: make(map[string]series),
	}
	registry.MustRegister(requests, duration, requestBytes, responseBytes, recorder.inFlight)
	for _, operation := range append([]string{Unknown}, operations...) {
		each := series{
			duration:      duration.WithLabelValues(operation),
			requestBytes:  requestBytes.WithLabelValues(operation),
			responseBytes: responseBytes.WithLabelValues(operation),
		}
		for _, code := range domain.Codes() {
			each.requests = append(each.requests, requests.WithLabelValues(operation, code.String(), worker))
		}
		recorder.series[operation] = each
	}
	return recorder
}

// Started counts a request as in flight, until Finished; it returns when that was.
func (r *Recorder) Started() time.Time {
	r.inFlight.Inc()
	return time.Now()
}

// Finished counts a request that was Started, by how it ended.
func (r *Recorder) Finished(operation string, code domain.Code, begun time.Time, requestBytes, responseBytes int) {
	each := r.series[operation]
	each.requests[code].Inc()
	each.duration.Observe(time.Since(begun).Seconds())
	each.requestBytes.Observe(float64(requestBytes))
	each.responseBytes.Observe(float64(responseBytes))
	r.inFlight.Dec()
}
