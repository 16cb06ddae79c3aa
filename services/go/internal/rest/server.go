// Package rest serves the application over REST, on net/http.
package rest

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/settings"
)

// Server is an http.Server.
type Server struct {
	http *http.Server
	tls  *tls.Config
}

// New returns a server; it serves nothing yet.
func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	calls := codec.Calls(app)
	mux := http.NewServeMux()
	handle := func(pattern, operation string, status int, parameters ...string) {
		mux.Handle(pattern, handler{operation, reply(calls[operation], status, parameters...)})
	}
	handle("GET /api/users", "users.list", http.StatusOK, "limit", "after_id")
	handle("POST /api/users", "users.create", http.StatusCreated)
	handle("POST /api/users/batch", "users.create_batch", http.StatusCreated)
	handle("GET /api/users/{id}", "users.get", http.StatusOK)
	handle("PUT /api/users/{id}", "users.update", http.StatusOK)
	handle("DELETE /api/users/{id}", "users.delete", http.StatusOK)
	handle("GET /accounts/{account_id}/balance", "ledger.get_balance", http.StatusOK)
	handle("POST /echo", "echo.echo", http.StatusOK)
	handle("POST /upper", "echo.upper", http.StatusOK)
	mux.Handle("GET /transactions/stream", handler{"ledger.stream_transactions", sendEvents(app.Ledger)})
	return &Server{tls: config.TLS, http: &http.Server{
		Handler: http.MaxBytesHandler(measure(mux, requests), int64(config.BodyBytesMax)),
		// For headers and body; streams lift it. A WriteTimeout would end streams.
		ReadTimeout: config.ReadTimeout,
		IdleTimeout: config.IdleTimeout,
	}}
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(listener net.Listener) error {
	if s.tls != nil {
		secure := s.tls.Clone()
		secure.NextProtos = []string{"http/1.1"} // as all REST services here
		listener = tls.NewListener(listener, secure)
	}
	return s.http.Serve(listener)
}

// Shutdown waits for requests in flight, or closes their connections when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}
