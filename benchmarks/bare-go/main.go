// Bare runs the frameworks that the services in Go are measured against: each answers a constant, and does nothing else.
//
//	bare RUNTIME PORT
package main

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"google.golang.org/grpc"

	"wirebench.dev/services/internal/pb"
)

const (
	prefaceBytes = 4
	bufferBytes  = 8 * 1024
	envelope     = `{"success":true,"data":{"id":1000001,"name":"User 1000001","email":"user1000001@example.com"},` +
		`"message":"User retrieved successfully"}`
)

func main() {
	runtimes := map[string]func(net.Listener) error{"net-http": serveHTTP, "grpc-go": serveGRPC, "goroutines": serveSocket}
	if len(os.Args) != 3 || runtimes[os.Args[1]] == nil {
		log.Fatal("usage: bare net-http|grpc-go|goroutines PORT")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Args[2]))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(runtimes[os.Args[1]](listener))
}

func serveHTTP(listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/users/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, envelope)
	})
	return http.Serve(listener, mux)
}

type users struct {
	pb.UnimplementedUserServiceServer
}

// GetUser returns a constant.
func (users) GetUser(context.Context, *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	return &pb.GetUserResponse{Success: true, Message: "User retrieved successfully", Data: &pb.User{
		Id: 1_000_001, Name: "User 1000001", Email: "user1000001@example.com",
	}}, nil
}

func serveGRPC(listener net.Listener) error {
	server := grpc.NewServer()
	pb.RegisterUserServiceServer(server, users{})
	return server.Serve(listener)
}

// serveSocket echoes frames, as the bare socket server in Python does.
func serveSocket(listener net.Listener) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go echo(connection)
	}
}

func echo(connection net.Conn) {
	defer connection.Close()
	if _, err := io.ReadFull(connection, make([]byte, prefaceBytes)); err != nil {
		return
	}
	buffer := make([]byte, bufferBytes)
	for {
		n, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:n]); err != nil {
			return
		}
	}
}
