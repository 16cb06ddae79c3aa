// Package metrics counts requests, and reports what the process uses.
package metrics

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/status"
)

// The only worker: a process in Go uses many cores.
const worker = "0"

// Upper bounds of the latency buckets, in seconds.
var bucketsSeconds = []float64{
	0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
}

// Requests counts the requests of a transport; safe for concurrent use.
type Requests struct {
	duration *prometheus.HistogramVec
}

// NewRequests registers the metric of a transport's requests, whose count is the number of requests.
func NewRequests(registry *prometheus.Registry, transport string) *Requests {
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "wirebench_request_duration_seconds", Help: "From the request read to the reply written.",
		Buckets: bucketsSeconds, ConstLabels: prometheus.Labels{"transport": transport, "worker": worker},
	}, []string{"operation", "code"})
	registry.MustRegister(duration)
	return &Requests{duration}
}

// Observe counts a request that began at a time and ended with an error, or with nil.
func (r *Requests) Observe(operation string, err error, begun time.Time) {
	name := strings.ToLower(code.Code(status.Code(err)).String())
	r.duration.WithLabelValues(operation, name).Observe(time.Since(begun).Seconds())
}

// NewAdmin returns a server of health and metrics; check returns why the service isn't ready, or nil.
func NewAdmin(registry *prometheus.Registry, check func(context.Context) error) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return &http.Server{Handler: mux, ReadTimeout: 5 * time.Second}
}

// RegisterService registers what the service is, and what it uses, read at each scrape.
func RegisterService(registry *prometheus.Registry, transport, runtime, store string) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "wirebench_build_info", Help: "What this service is; always 1.", ConstLabels: prometheus.Labels{
			"transport": transport, "runtime": runtime, "implementation": "go", "store": store,
		},
	}, func() float64 { return 1 }), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}
