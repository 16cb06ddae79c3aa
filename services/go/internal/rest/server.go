// Package rest serves the application over REST, on net/http.
package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"wirebench.dev/services/internal/application"
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
	mux := http.NewServeMux()
	mux.Handle("GET /api/users", unary("users.list", http.StatusOK, app.Users.ListUsers, "limit", "after_id"))
	mux.Handle("POST /api/users", unary("users.create", http.StatusCreated, app.Users.CreateUser))
	mux.Handle("POST /api/users/batch", unary("users.create_batch", http.StatusCreated, app.Users.CreateUserBatch))
	mux.Handle("GET /api/users/{id}", unary("users.get", http.StatusOK, app.Users.GetUser))
	mux.Handle("PUT /api/users/{id}", unary("users.update", http.StatusOK, app.Users.UpdateUser))
	mux.Handle("DELETE /api/users/{id}", unary("users.delete", http.StatusOK, app.Users.DeleteUser))
	mux.Handle("GET /accounts/{account_id}/balance", unary("ledger.get_balance", http.StatusOK, app.Ledger.GetBalance))
	mux.Handle("GET /transactions/stream", events("ledger.stream_transactions", app.Ledger))
	mux.Handle("POST /echo", unary("echo.echo", http.StatusOK, app.Echo.Echo))
	mux.Handle("POST /upper", unary("echo.upper", http.StatusOK, app.Echo.Upper))
	return &Server{tls: config.TLS, http: &http.Server{
		Handler: http.MaxBytesHandler(measure(mux, requests), int64(config.BodyBytesMax)),
		// For headers and body; streams lift it. A WriteTimeout would end streams.
		ReadTimeout: config.ReadTimeout,
		IdleTimeout: config.IdleTimeout,
	}}
}

// Serve accepts connections until Shutdown is called.
func (s *Server) Serve(listener net.Listener) error {
	if s.tls != nil {
		secure := s.tls.Clone()
		secure.NextProtos = []string{"http/1.1"} // as all REST services here
		listener = tls.NewListener(listener, secure)
	}
	if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown waits for requests in flight, or closes their connections when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}
