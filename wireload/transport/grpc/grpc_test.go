package grpc

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// connect returns a client of a server that x/net/http2 is, with this handler.
func connect(t *testing.T, server *http2.Server, handler http.HandlerFunc) *Client {
	t.Helper()
	client := New("service:1", false, time.Second)
	client.Open(transporttest.Dial(t, func(c net.Conn) { server.ServeConn(c, &http2.ServeConnOpts{Handler: handler}) }))
	return client
}

// answer writes messages and a status as gRPC does.
func answer(w http.ResponseWriter, status, text string, messages ...string) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
	for _, each := range messages {
		length := len(each)
		_, _ = w.Write([]byte{0, byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)})
		_, _ = io.WriteString(w, each)
	}
	w.Header().Set("Grpc-Status", status)
	w.Header().Set("Grpc-Message", text)
}

func call(t *testing.T, client *Client, body string, item func([]byte) bool) (transport.Reply, error) {
	t.Helper()
	prepared := request.Request{Path: []byte("/users.Users/Get"), Body: []byte(body), Stream: item != nil}
	if err := client.Prepare(&prepared); err != nil {
		t.Fatal(err)
	}
	return client.Call(item)
}

func TestAMessageOfAnySizeIsEchoed(t *testing.T) {
	// A server with small windows and frames makes the client wait for room.
	server := &http2.Server{MaxUploadBufferPerStream: 20_000, MaxUploadBufferPerConnection: 70_000}
	client := connect(t, server, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/users.Users/Get" || r.Header.Get("Grpc-Timeout") != "1000m" || r.Host != "service:1" {
			t.Errorf("unexpected request: %v, %v", r, err)
			return
		}
		answer(w, "0", "", string(body[prefixBytes:]))
	})
	for _, size := range []int{0, 1, 100, 16_383, 65_536, 3_000_000, 10} {
		body := strings.Repeat("x", size)
		reply, err := call(t, client, body, nil)
		if err != nil || reply.Code != histogram.OK || string(reply.Body) != body || reply.Close {
			t.Fatalf("%d bytes: got %s, %d bytes, %v", size, reply.Code, len(reply.Body), err)
		}
	}
}

func TestAStatusIsTheOutcome(t *testing.T) {
	client := connect(t, &http2.Server{}, func(w http.ResponseWriter, _ *http.Request) { answer(w, "5", "no user %C3%BC") })
	reply, err := call(t, client, "", nil)
	if err != nil || reply.Code != histogram.NotFound || reply.Message != "no user ü" {
		t.Errorf("got %v, %v", reply, err)
	}
}

// TestAnAnswerThatIsNotGRPCIsExplainedByItsStatus has a proxy answer in the service's place.
func TestAnAnswerThatIsNotGRPCIsExplainedByItsStatus(t *testing.T) {
	status := http.StatusServiceUnavailable
	client := connect(t, &http2.Server{}, func(w http.ResponseWriter, _ *http.Request) {
		if status != http.StatusOK {
			w.Header()["Content-Type"] = nil
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<html>come back later</html>")
	})
	for _, item := range []func([]byte) bool{nil, func([]byte) bool { return true }} {
		status = http.StatusServiceUnavailable
		reply, err := call(t, client, "", item)
		if err != nil || reply.Code != histogram.Unavailable || reply.Message != "HTTP status 503" {
			t.Errorf("got %v, %v", reply, err)
		}
		status = http.StatusOK
		_, err = call(t, client, "", item)
		if failure := transport.AsFailure(err); failure == nil || failure.Class != transport.Garbage || !strings.Contains(failure.Message, "text/html") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAStreamIsReadItemByItem(t *testing.T) {
	large := strings.Repeat("y", 50_000)
	client := connect(t, &http2.Server{}, func(w http.ResponseWriter, r *http.Request) {
		if timeout := r.Header.Get("Grpc-Timeout"); timeout != "" {
			t.Errorf("the server would end the stream after %s", timeout)
		}
		answer(w, "0", "", "one", large, "")
	})
	var got []string
	reply, err := call(t, client, "", func(item []byte) bool {
		got = append(got, string(item))
		return true
	})
	if err != nil || reply.Code != histogram.OK || len(got) != 3 || got[0] != "one" || got[1] != large || got[2] != "" {
		t.Errorf("got %d items, %v, %v", len(got), reply.Code, err)
	}
	_, err = call(t, client, "", func([]byte) bool { return false })
	if !errors.Is(err, transport.ErrStopped) {
		t.Errorf("want the stream to end early, got %v", err)
	}
}
