package platform

import (
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const adminReadTimeout = 5 * time.Second

// admin answers /livez, /readyz, /metrics and /usage on a port of its own.
type admin struct {
	server        *http.Server
	metrics       http.Handler
	resourcesFrom string
	ready         atomic.Bool
}

func newAdmin(s *Settings, gatherer prometheus.Gatherer) *admin {
	a := &admin{
		metrics:       promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}),
		resourcesFrom: s.ResourcesFrom,
	}
	a.server = &http.Server{Handler: a, ReadTimeout: adminReadTimeout}
	return a
}

// serve returns when the server is closed.
func (a *admin) serve(listener net.Listener) { _ = a.server.Serve(listener) }

func (a *admin) close() { _ = a.server.Close() }

// ServeHTTP answers a GET, or HEAD, of any path.
func (a *admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		reply(w, http.StatusMethodNotAllowed, "text/plain", []byte("only GET and HEAD\n"))
		return
	}
	switch r.URL.Path {
	case "/livez":
		probe(w, true)
	case "/readyz":
		probe(w, a.ready.Load())
	case "/metrics":
		a.metrics.ServeHTTP(w, r)
	case "/usage":
		body, err := json.Marshal(readUsage(a.resourcesFrom))
		if err != nil {
			reply(w, http.StatusInternalServerError, "text/plain", []byte(err.Error()))
			return
		}
		reply(w, http.StatusOK, "application/json", body)
	default:
		reply(w, http.StatusNotFound, "text/plain", []byte("try /livez, /readyz, /metrics or /usage\n"))
	}
}

func probe(w http.ResponseWriter, good bool) {
	if good {
		reply(w, http.StatusOK, "text/plain", []byte("ok\n"))
	} else {
		reply(w, http.StatusServiceUnavailable, "text/plain", []byte("no\n"))
	}
}

func reply(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has hung up
}
