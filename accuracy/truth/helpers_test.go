package main

import (
	"net"
	"slices"
	"testing"
)

// start serves REST on a free port until the test ends.
func start(t *testing.T, b behaviour) (*server, string) {
	t.Helper()
	serve, err := newTransport("rest")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := listenStamped("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s := &server{serve: serve, delay: b.delay, log: newRequestLog(), seed: 1}
	go s.accept(listener)
	return s, listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// logged returns the requests so far.
func (s *server) logged() []request {
	s.log.mutex.Lock()
	defer s.log.mutex.Unlock()
	return slices.Clone(s.log.requests)
}
