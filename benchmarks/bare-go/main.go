// Bare runs the frameworks that the services in Go are measured against: each answers a constant, and does nothing else.
//
//	bare RUNTIME PORT
//	bare pace PORT RATE SECONDS    prints how many microseconds of CPU time a request takes at a rate, at least
//
// net-http runs a busy loop of LOOP_ITERATIONS in each request.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"google.golang.org/grpc"

	"wirebench.dev/services/internal/pb"
)

const (
	prefaceBytes = 4
	idBytes      = 4
	bufferBytes  = 8 * 1024
	user         = `{"id":1000001,"name":"User 1000001","email":"user1000001@example.com"}`
	envelope     = `{"success":true,"data":` + user + `,"message":"User retrieved successfully"}`
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == "pace" {
		var numbers [3]int
		for i, text := range os.Args[2:] {
			var err error
			if numbers[i], err = strconv.Atoi(text); err != nil || numbers[i] <= 0 {
				log.Fatalf("%q is no number above 0", text)
			}
		}
		us, err := measurePace(numbers[0], numbers[1], numbers[2])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(us)
		return
	}
	if text := os.Getenv("LOOP_ITERATIONS"); text != "" {
		var err error
		if iterationsPerRequest, err = strconv.Atoi(text); err != nil || iterationsPerRequest < 0 {
			log.Fatalf("LOOP_ITERATIONS=%q is no number of iterations", text)
		}
	}
	runtimes := map[string]func(net.Listener) error{"net-http": serveHTTP, "grpc-go": serveGRPC, "goroutines": serveSocket}
	if len(os.Args) != 3 || runtimes[os.Args[1]] == nil {
		log.Fatal("usage: bare net-http|grpc-go|goroutines PORT, or bare pace PORT RATE SECONDS")
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
		loop(iterationsPerRequest)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, envelope)
	})
	return http.Serve(listener, mux)
}

var iterationsPerRequest int

// loop takes a time in proportion to its iterations: each needs the result of the one before.
//
//go:noinline
func loop(iterations int) uint64 {
	state := uint64(1)
	for range iterations {
		state = state*6364136223846793005 + 1442695040888963407
	}
	return state
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

// serveSocket answers each frame by a constant, as the bare socket server in Python does.
func serveSocket(listener net.Listener) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go answer(connection)
	}
}

// answer sends frames (proto/socket.md) around the ids of the requests.
func answer(connection net.Conn) {
	defer connection.Close()
	if _, err := io.ReadFull(connection, make([]byte, prefaceBytes)); err != nil {
		return
	}
	body := "\x00\x00\x00\x00" + user // status, flags and an empty message
	reply := binary.BigEndian.AppendUint32(nil, uint32(idBytes+len(body)))
	reply = append(append(reply, make([]byte, idBytes)...), body...)
	buffer := make([]byte, bufferBytes)
	for {
		n, err := connection.Read(buffer)
		if err != nil || n < 2*idBytes {
			return
		}
		copy(reply[idBytes:], buffer[idBytes:2*idBytes])
		if _, err := connection.Write(reply); err != nil {
			return
		}
	}
}
