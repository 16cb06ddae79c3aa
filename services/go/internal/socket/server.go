// Package socket is the application behind the protocol of proto/socket.md: a goroutine for each connection.
package socket

import (
	"context"
	"errors"
	"log"
	"net"
	"sync"
	"time"

	"wirebench.dev/services/internal/platform"
)

// Defaults are those of the transport.
var Defaults = platform.Defaults{Transport: "socket", Port: 9000, Runtime: "goroutines"}

// How long others have to leave when no further client can be accepted.
const acceptPause = 100 * time.Millisecond

// Server keeps the connections.
type Server struct {
	worker *platform.Worker
	full   sync.Once

	mu          sync.Mutex
	listener    net.Listener
	stopping    bool
	connections map[*connection]struct{}
	running     sync.WaitGroup
}

// New returns a server; it serves nothing yet.
func New(worker *platform.Worker) platform.Server {
	return &Server{worker: worker, connections: make(map[*connection]struct{})}
}

// Serve takes connections until Shutdown is called.
func (s *Server) Serve(listener net.Listener) error {
	s.mu.Lock()
	s.listener = listener
	s.mu.Unlock()
	for {
		accepted, err := listener.Accept()
		switch {
		case err == nil:
			s.start(accepted)
		case errors.Is(err, net.ErrClosed):
			return nil
		default: // no more files may be open, as a rule
			s.full.Do(func() { log.Printf("can't accept a connection: %v; further clients wait until one leaves", err) })
			time.Sleep(acceptPause)
		}
	}
}

func (s *Server) start(accepted net.Conn) {
	c := newConnection(s.worker, accepted)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		_ = accepted.Close()
		return
	}
	s.connections[c] = struct{}{}
	s.running.Go(func() {
		defer s.forget(c)
		c.serve()
	})
}

func (s *Server) forget(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
}

// Shutdown closes all connections between frames, or when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	s.stopping = true
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for c := range s.connections {
		c.drain()
	}
	s.mu.Unlock()
	finished := make(chan struct{})
	go func() {
		s.running.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		for c := range s.connections {
			c.abort()
		}
	}
}
