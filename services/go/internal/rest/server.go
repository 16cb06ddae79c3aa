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

// Server is an http.Server with its settings.
type Server struct {
	http *http.Server
	tls  *tls.Config
}

// New returns a server; it serves nothing yet.
func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	handler := http.MaxBytesHandler(measure(newMux(app), requests), int64(config.BodyBytesMax))
	return &Server{tls: config.TLS, http: &http.Server{
		Handler: handler,
		// For headers and body; streams lift it. There is no WriteTimeout: it would end streams.
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
