// Package rest serves the application over REST, on net/http.
package rest

import (
	"context"
	"net"
	"net/http"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/settings"
)

// Server is an http.Server with its handlers.
type Server struct {
	http     *http.Server
	ledger   *application.Ledger
	calls    map[string]codec.Call
	requests *metrics.Requests
}

// New returns a server; it serves nothing yet.
func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	mux := http.NewServeMux()
	s := &Server{ledger: app.Ledger, calls: codec.Calls(app), requests: requests, http: &http.Server{
		Handler: http.MaxBytesHandler(countUnknown(mux, requests), int64(config.BodyBytesMax)),
		// For headers and body; streams lift it. A WriteTimeout would end streams.
		ReadTimeout: config.ReadTimeout,
		IdleTimeout: config.IdleTimeout,
		TLSConfig:   config.TLS,
		Protocols:   &http.Protocols{},
	}}
	s.http.Protocols.SetHTTP1(true) // as all REST services here, also with TLS
	mux.HandleFunc("GET /api/users", s.reply("users.list", http.StatusOK, "limit", "after_id"))
	mux.HandleFunc("POST /api/users", s.reply("users.create", http.StatusCreated))
	mux.HandleFunc("POST /api/users/batch", s.reply("users.create_batch", http.StatusCreated))
	mux.HandleFunc("GET /api/users/{id}", s.reply("users.get", http.StatusOK))
	mux.HandleFunc("PUT /api/users/{id}", s.reply("users.update", http.StatusOK))
	mux.HandleFunc("DELETE /api/users/{id}", s.reply("users.delete", http.StatusOK))
	mux.HandleFunc("GET /accounts/{account_id}/balance", s.reply("ledger.get_balance", http.StatusOK))
	mux.HandleFunc("GET /transactions/stream", s.stream)
	mux.HandleFunc("POST /echo", s.reply("echo.echo", http.StatusOK))
	mux.HandleFunc("POST /upper", s.reply("echo.upper", http.StatusOK))
	return s
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(listener net.Listener) error {
	if s.http.TLSConfig != nil {
		return s.http.ServeTLS(listener, "", "")
	}
	return s.http.Serve(listener)
}

// Shutdown waits for requests in flight, or closes their connections when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}
