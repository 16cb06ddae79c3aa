package ledgertest

import (
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
)

// Listen returns a listener on loopback that counts its connections, and is closed when the test ends.
func Listen(t testing.TB, connections *atomic.Int64) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return countingListener{listener, connections}
}

type countingListener struct {
	net.Listener
	connections *atomic.Int64
}

func (l countingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err == nil {
		l.connections.Add(1)
	}
	return connection, err
}

// ServeGRPC handles calls of all methods, whose messages are bytes, until the test ends.
func ServeGRPC(t testing.TB, listener net.Listener, handle grpc.StreamHandler) {
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(handle))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

// rawCodec hands messages over as the bytes they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, message any) error {
	*message.(*[]byte) = append([]byte(nil), data...)
	return nil
}
