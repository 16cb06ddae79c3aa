package rpc

import (
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// handshakes is TLS whose handshakes end when the server stops, which would wait for clients that don't finish theirs.
type handshakes struct {
	credentials.TransportCredentials
	mu       sync.Mutex
	stopping bool
	open     map[net.Conn]struct{}
}

func newHandshakes(of credentials.TransportCredentials) *handshakes {
	return &handshakes{TransportCredentials: of, open: make(map[net.Conn]struct{})}
}

// ServerHandshake makes the server's part of a handshake.
func (h *handshakes) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	h.begin(raw)
	defer h.end(raw)
	return h.TransportCredentials.ServerHandshake(raw)
}

func (h *handshakes) begin(raw net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping {
		_ = raw.Close()
	}
	h.open[raw] = struct{}{}
}

func (h *handshakes) end(raw net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, raw)
}

// stop closes all connections whose handshake isn't over.
func (h *handshakes) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopping = true
	for raw := range h.open {
		_ = raw.Close()
	}
}
