// Package socket serves the application over the protocol of proto/socket.md: one goroutine a connection.
package socket

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"sync"
	"time"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/settings"
)

// After a failed accept, as when no more files may be open.
const acceptPause = 100 * time.Millisecond

// Server keeps the connections.
type Server struct {
	config   *settings.Settings
	app      *application.Application
	requests *metrics.Requests
	calls    map[string]codec.Call

	mu          sync.Mutex
	connections map[*connection]struct{}
	running     sync.WaitGroup
}

// New returns a server; it serves nothing yet.
func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	return &Server{
		config: config, app: app, requests: requests, calls: codec.Calls(app), connections: map[*connection]struct{}{},
	}
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(listener net.Listener) error {
	for {
		accepted, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			log.Printf("can't accept a connection: %v; further clients wait", err)
			time.Sleep(acceptPause)
			continue
		}
		if s.config.TLS != nil {
			accepted = tls.Server(accepted, s.config.TLS) // the handshake is part of the first read
		}
		s.start(newConnection(s, accepted))
	}
}

func (s *Server) start(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections[c] = struct{}{}
	s.running.Go(func() {
		c.serve()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.connections, c)
	})
}

// Shutdown closes connections between requests, and all of them when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	s.forEach((*connection).stop)
	abort := context.AfterFunc(ctx, func() { s.forEach(func(c *connection) { _ = c.Close() }) })
	defer abort()
	s.running.Wait()
}

func (s *Server) forEach(do func(*connection)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.connections {
		do(c)
	}
}
