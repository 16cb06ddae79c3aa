package rpc

import (
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// The least that a client says first: a fixed text, and the head of a SETTINGS frame (RFC 9113, 3.4 and 4.1).
const openingBytes = 24 + 9

// openings are connections whose clients haven't opened HTTP/2 yet, with TLS or without. A server that stops would wait
// for them, and tell no other client before.
type openings struct {
	credentials.TransportCredentials
	mu       sync.Mutex
	stopping bool
	open     map[net.Conn]struct{}
}

func newOpenings(of credentials.TransportCredentials) *openings {
	return &openings{TransportCredentials: of, open: make(map[net.Conn]struct{})}
}

// ServerHandshake makes the server's part of a handshake, which is nothing without TLS.
func (o *openings) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	o.begin(raw)
	made, info, err := o.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		o.end(raw)
		return nil, nil, err
	}
	return &opening{Conn: made, missing: openingBytes, end: func() { o.end(raw) }}, info, nil
}

func (o *openings) begin(raw net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopping {
		_ = raw.Close()
	}
	o.open[raw] = struct{}{}
}

func (o *openings) end(raw net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, raw)
}

// stop closes all connections that aren't open yet.
func (o *openings) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopping = true
	for raw := range o.open {
		_ = raw.Close()
	}
}

// opening is a connection of which the client's first bytes are counted.
type opening struct {
	net.Conn
	missing int
	end     func()
}

// Read takes what the client says; gRPC reads from one goroutine at a time.
func (o *opening) Read(into []byte) (int, error) {
	read, err := o.Conn.Read(into)
	if o.missing > 0 {
		if o.missing -= read; o.missing <= 0 || err != nil {
			o.end()
		}
	}
	return read, err
}

// Close closes the connection.
func (o *opening) Close() error {
	o.end()
	return o.Conn.Close()
}
