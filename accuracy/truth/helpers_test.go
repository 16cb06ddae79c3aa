package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
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

// get sends a users.get over HTTP/1.1 and returns the body of its reply.
func get(connection net.Conn, id int) ([]byte, error) {
	fmt.Fprintf(connection, "GET /api/users/%d HTTP/1.1\r\nHost: truth\r\n\r\n", id)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(response.Body)
}

// logged returns the requests so far.
func (s *server) logged() []request {
	s.log.mutex.Lock()
	defer s.log.mutex.Unlock()
	return slices.Clone(s.log.requests)
}
