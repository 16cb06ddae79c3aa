package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"wirebench.dev/k6/ledgertest"
	"wirebench.dev/wireload/frame"
	"wirebench.dev/wireload/transport/transporttest"
)

// service answers users.get on one of the transports, just well enough for the scripts.
type service struct {
	address string
	// What it saw.
	requests, connections atomic.Int64
	// How it is to behave: set before the load.
	wrong bool          // It answers with another user.
	delay time.Duration // It answers late.
	tls   *tls.Config   // It speaks TLS.
}

type transport struct {
	script string
	start  func(testing.TB, *service)
}

var transports = map[string]transport{
	"rest":   {"../rest.js", startREST},
	"grpc":   {"../grpc.js", startGRPC},
	"socket": {"../socket.js", startSocket},
}

// onAllTransports runs a test on each of them.
func onAllTransports(t *testing.T, service func() *service, test func(*testing.T, *service, k6Run)) {
	t.Helper()
	for name, transport := range transports {
		t.Run(name, func(t *testing.T) {
			service := service()
			transport.start(t, service)
			test(t, service, k6Run{
				script: transport.script, warmup: "0.2", window: "0.8",
				variables: map[string]string{"ADDRESS": service.address, "CONCURRENCY": "2", "CHECK_EVERY": "10"},
			})
		})
	}
}

func (s *service) listen(t testing.TB) net.Listener {
	t.Helper()
	listener := ledgertest.Listen(t, &s.connections)
	s.address = listener.Addr().String()
	if s.tls != nil {
		return tls.NewListener(listener, s.tls)
	}
	return listener
}

// expectConnections wants one for each of so many users.
func (s *service) expectConnections(t *testing.T, users int64) {
	t.Helper()
	// net/http may open one more while the last one is on its way back to the pool.
	if got := s.connections.Load(); got < users || got > users+1 {
		t.Errorf("want %d connections, got %d", users, got)
	}
}

// answer returns the id and name to answer a request for this id with.
func (s *service) answer(id int) (int, string) {
	s.requests.Add(1)
	time.Sleep(s.delay)
	if s.wrong {
		id++
	}
	return id, fmt.Sprint("User ", id)
}

func startREST(t testing.TB, service *service) {
	t.Helper()
	handler := func(writer http.ResponseWriter, request *http.Request) {
		asked, _ := strconv.Atoi(path.Base(request.URL.Path))
		id, name := service.answer(asked)
		_, _ = fmt.Fprintf(writer, `{"success":true,"message":"","data":{"id":%d,"name":%q}}`, id, name)
	}
	listener := service.listen(t)
	server := &http.Server{
		Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // Failed handshakes.
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

func startSocket(t testing.TB, service *service) {
	t.Helper()
	transporttest.HandleEach(service.listen(t), service.serveSocket)
}

func (s *service) serveSocket(connection net.Conn) {
	reader := bufio.NewReader(connection)
	if _, err := reader.Discard(len(frame.PrefaceJSON)); err != nil {
		return
	}
	for {
		payload, err := frame.ReadPayload(reader)
		if err != nil {
			return
		}
		request, err := frame.ParseRequest(payload)
		if err != nil {
			return
		}
		var asked struct{ ID int }
		_ = json.Unmarshal(request.Body, &asked)
		id, name := s.answer(asked.ID)
		body := fmt.Appendf(nil, `{"id":%d,"name":%q}`, id, name)
		encoded, err := frame.AppendReply(nil, frame.Reply{ID: request.ID, Body: body})
		if err != nil {
			return
		}
		if _, err := connection.Write(encoded); err != nil {
			return
		}
	}
}

func startGRPC(t testing.TB, service *service) {
	t.Helper()
	ledgertest.ServeGRPC(t, service.listen(t), service.serveGRPC)
}

func (s *service) serveGRPC(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	asked, _ := protowire.ConsumeVarint(request[1:]) // The request has one field, the id.
	id, name := s.answer(int(asked))
	user := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(id))
	user = protowire.AppendString(protowire.AppendTag(user, 2, protowire.BytesType), name)
	reply := []byte{1 << 3, 1} // success
	reply = protowire.AppendBytes(protowire.AppendTag(reply, 3, protowire.BytesType), user)
	return stream.SendMsg(&reply)
}
