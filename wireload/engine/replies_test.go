package engine

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// TestAReplyThatIsCutAnywhereIsAFailure ends each transport's reply after each of its bytes: by the server, by a reset, and by
// the end of a call's time.
func TestAReplyThatIsCutAnywhereIsAFailure(t *testing.T) {
	cut := maps.Clone(protocols)
	for name, reply := range map[string]string{
		"chunks":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na;x=y\r\n0123456789\r\n0\r\nA: b\r\n\r\n",
		"hints":        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"long headers": "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 9000) + "\r\nContent-Length: 0\r\n\r\n",
		"stream":       "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n",
	} {
		p := protocols["rest"]
		p.reply, p.request.Stream = func(int) []byte { return []byte(reply) }, name == "stream"
		cut[name] = p
	}
	for name, p := range cut {
		whole := p.reply(0)
		for end, class := range map[error]transport.Class{
			io.EOF: transport.CutShort, syscall.ECONNRESET: transport.Reset, os.ErrDeadlineExceeded: transport.Timeout,
		} {
			client, words := p.newClient("service:1"), map[string]bool{}
			for length := range len(whole) + 1 {
				_, err := ask(t, client, p, whole[:length], end)
				failure := transport.AsFailure(err)
				if length == len(whole) {
					if err != nil {
						t.Errorf("%s: want the whole reply, got %v", name, err)
					}
					continue
				}
				beforeStream := map[string]int{"h2c": 18, "grpc": 18}[name] // Until its first frame is whole, behind SETTINGS.
				want := class
				if end == io.EOF && length <= beforeStream {
					want = transport.Closed
				}
				if failure == nil || failure.Class != want {
					t.Fatalf("%s, %d of %d bytes and %v: want %s, got %+v", name, length, len(whole), end, want, failure)
				}
				words[failure.Message] = true
			}
			if len(words) > 2 {
				t.Errorf("%s, %v: want the same words for the same failure, got %q", name, end, slices.Collect(maps.Keys(words)))
			}
		}
	}
}

// ask has a client read a reply that a server has said in advance.
func ask(t *testing.T, client transport.Client, p protocol, said []byte, end error) (transport.Reply, error) {
	t.Helper()
	if err := client.Prepare(&p.request); err != nil {
		t.Fatal(err)
	}
	connection := transporttest.Connect(said)
	connection.End = end
	client.Open(connection)
	if !p.request.Stream {
		return client.Call(nil)
	}
	return client.Call(func([]byte) bool { return true })
}

// FuzzReply has clients read any bytes as their reply; one client reads many, as after each failure of a load.
func FuzzReply(f *testing.F) {
	names := slices.Sorted(maps.Keys(protocols))
	var clients []transport.Client
	for n, name := range names {
		clients = append(clients, protocols[name].newClient("service:1"))
		f.Add(n, false, protocols[name].reply(0))
		f.Add(n, true, protocols[name].reply(0))
	}
	f.Add(slices.Index(names, "rest"), true, []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n"))
	f.Add(slices.Index(names, "rest"), false, []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, n int, streamed bool, said []byte) {
		n = max(n, 0) % len(names)
		p := protocols[names[n]]
		p.request.Stream = streamed
		answer, err := ask(t, clients[n], p, said, nil)
		if err != nil && transport.AsFailure(err) == nil {
			t.Errorf("want a failure of a class, got %v", err)
		}
		if err == nil && answer.Code == "" {
			t.Error("want an outcome")
		}
	})
}
