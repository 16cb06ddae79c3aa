package stream

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"wirebench.dev/k6/ledgertest"
	"wirebench.dev/wireload/histogram"
)

func TestItemsAreTimed(t *testing.T) {
	slow := ledgertest.Behaviour{First: 60 * time.Millisecond, Gap: 20 * time.Millisecond}
	onAllTransports(t, slow, func(t *testing.T, vu *vu, _ *ledgertest.Server) {
		got := vu.read(10, "check: true")
		if got.Status != 0 || got.Items != 10 || got.First == nil || got.Last == nil {
			t.Errorf("unexpected %+v", got)
		}
		seen := vu.measured()
		if len(seen.first) != 1 || len(seen.gaps) != 9 || len(seen.requests) != 1 {
			t.Fatalf("want a first item, 9 gaps and a request, got %+v", seen)
		}
		if seen.first[0] < slow.First || seen.first[0] > 5*slow.First {
			t.Errorf("want the first item after %s, got %s", slow.First, seen.first[0])
		}
		slices.Sort(seen.gaps)
		if median := seen.gaps[4]; median < slow.Gap*8/10 || median > slow.Gap*2 {
			t.Errorf("want gaps of %s, got %v", slow.Gap, seen.gaps)
		}
		if took := seen.requests[0].Value; took < 239 || took > 1000 {
			t.Errorf("want 60 ms and 9 times 20 ms, got %g ms", took)
		}
	})
}

func TestManyItemsAreAllCounted(t *testing.T) {
	onAllTransports(t, ledgertest.Behaviour{}, func(t *testing.T, vu *vu, _ *ledgertest.Server) {
		if got := vu.read(20000, "check: true"); got.Status != 0 || got.Items != 20_000 {
			t.Errorf("unexpected %+v", got)
		}
		if seen := vu.measured(); len(seen.first) != 1 || len(seen.gaps) != 19_999 {
			t.Errorf("got %d first items and %d gaps", len(seen.first), len(seen.gaps))
		}
	})
}

func TestFailuresAreCountedByClass(t *testing.T) {
	for name, wrong := range map[string]struct {
		behaves ledgertest.Behaviour
		status  int
		message string
		items   int64
	}{
		"cut":     {ledgertest.Behaviour{CutAfter: 3}, statusUnavailable, "", 3},
		"error":   {ledgertest.Behaviour{FailAfter: 3}, statusInternal, ledgertest.Message, 3},
		"stall":   {ledgertest.Behaviour{StallAfter: 3}, statusDeadlineExceeded, "no item within 1s", 3},
		"refused": {ledgertest.Behaviour{Refused: true}, statusInvalidArgument, ledgertest.Message, 0},
	} {
		t.Run(name, func(t *testing.T) {
			onAllTransports(t, wrong.behaves, func(t *testing.T, vu *vu, _ *ledgertest.Server) {
				got := vu.read(10, "")
				if got.Status != wrong.status || got.Items != wrong.items || got.Cancelled {
					t.Errorf("unexpected %+v", got)
				}
				if !strings.Contains(got.Message, wrong.message) || got.Message == "" {
					t.Errorf("want %q, got %q", wrong.message, got.Message)
				}
				seen := vu.measured()
				if len(seen.requests) != 1 || seen.over != 0 {
					t.Fatalf("want one failed request, got %+v", seen)
				}
				if status, _ := seen.requests[0].Tags.Get("status"); status == "0" || seen.requests[0].Metadata["error"] == "" {
					t.Errorf("want a status and words, got %q and %v", status, seen.requests[0].Metadata)
				}
			})
		})
	}
}

func TestARestStreamIsAskedForAndEndsAsItsServiceSays(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for name, each := range map[string]struct {
		reply, more string
		status      int
		items       int64
	}{
		"chunks":        {head + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n", "", statusOK, 1},
		"cut chunks":    {head + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n", "", statusUnavailable, 1},
		"cut length":    {head + "Content-Length: 18\r\n\r\ndata: 1\n\n", "", statusUnavailable, 1},
		"event":         {head + "\r\ndata: 1\n\nevent: done\ndata: 2\n\n", "end: 'done'", statusOK, 1},
		"no event":      {head + "\r\ndata: 1\n\n", "end: 'done'", statusUnavailable, 1},
		"conflict":      {"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n", "", histogram.AlreadyExists.GRPC(), 0},
		"not a stream":  {"HTTP/1.1 204 No Content\r\n\r\n", "", statusInternal, 0},
		"out of memory": {"HTTP/1.1 507 No\r\nContent-Length: 0\r\n\r\n", "", histogram.Unknown.GRPC(), 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Method != http.MethodPost || string(body) != "{}" || r.Header.Get("Content-Type") != "a/b" || r.Header.Get("Accept") != eventStream {
				t.Errorf("unexpected request: %v, %s", r, body)
			}
			connection, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(connection, each.reply)
			_ = connection.Close()
		}))
		vu := newVU(t)
		vu.client("rest", server.Listener.Addr().String(), "")
		script := "client.read({ name: 'a', method: 'POST', target: '/', body: '{}', headers: { 'content-type': 'a/b' }, " + each.more + " })"
		if got, ok := vu.Run(script).Export().(*Result); !ok || got.Status != each.status || got.Items != each.items {
			t.Errorf("%s: got %+v", name, got)
		}
		server.Close()
	}
}

func TestAServerThatIsNotThereIsUnavailable(t *testing.T) {
	for _, transport := range ledgertest.Transports {
		vu := newVU(t)
		vu.client(transport, "127.0.0.1:1", "")
		if got := vu.read(10, ""); got.Status != statusUnavailable || !strings.Contains(got.Message, "connection refused") {
			t.Errorf("%s: unexpected %+v", transport, got)
		}
	}
}

func TestAStreamIsCancelledWhenTheLoadIsOver(t *testing.T) {
	slow := ledgertest.Behaviour{Gap: 50 * time.Millisecond}
	onAllTransports(t, slow, func(t *testing.T, vu *vu, server *ledgertest.Server) {
		start := time.Now()
		got := vu.read(1000, "until: Date.now() + 180")
		if took := time.Since(start); !got.Cancelled || got.Items == 0 || took > 2*time.Second {
			t.Errorf("unexpected %+v after %s", got, took)
		}
		if seen := vu.measured(); seen.over != 1 || len(seen.requests) != 0 || int64(len(seen.gaps)) != got.Items-1 {
			t.Errorf("want its items and no request, got %+v", seen)
		}
		// The server is told at once.
		for deadline := time.Now().Add(10 * time.Second); server.Cancelled.Load() == 0 && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		if server.Cancelled.Load() != 1 {
			t.Error("the server still sends")
		}
		// And the client is fit for another one.
		if got := vu.read(2, ""); got.Status != statusOK || got.Items != 2 {
			t.Errorf("unexpected %+v", got)
		}
	})
}

func TestConnectionsAreKeptOrReopened(t *testing.T) {
	onAllTransports(t, ledgertest.Behaviour{}, func(t *testing.T, vu *vu, server *ledgertest.Server) {
		vu.read(3, "")
		vu.read(3, "")
		vu.read(3, "")
		if server.Connections.Load() != 1 {
			t.Errorf("want one connection, got %d", server.Connections.Load())
		}
	})
	for _, transport := range []string{"grpc", "socket"} { // For REST k6's own option does it.
		server, vu := ledgertest.Start(t, transport, ledgertest.Behaviour{}), newVU(t)
		vu.client(transport, server.Address, "reopen: true")
		vu.read(3, "")
		vu.read(3, "")
		if server.Connections.Load() != 2 {
			t.Errorf("%s: want two connections, got %d", transport, server.Connections.Load())
		}
	}
}

func TestTheFirstAndTheLastItemAreKeptToBeChecked(t *testing.T) {
	seen := inspection{kept: true}
	for _, item := range []string{"one", "two", "three"} {
		seen.take([]byte(item))
	}
	if string(seen.first) != "one" || string(seen.last) != "three" || seen.count != 3 {
		t.Errorf("unexpected %+v", seen)
	}
}

func TestWrongScriptsThrow(t *testing.T) {
	for script, words := range map[string]string{
		"new stream.Client({ transport: 'carrier pigeon', address: 'a:1' })":         "transport must be one of rest, grpc, socket",
		"new stream.Client({ transport: 'rest' })":                                   "address is missing",
		"new stream.Client({ transport: 'rest', address: 'a:1', timeout: 'soon' })":  "timeout must be a duration",
		"new stream.Client({ transport: 'rest', address: 'a:1', speed: 1 })":         `unknown setting "speed"`,
		"new stream.Client({ transport: 'rest', address: 'a:1' }).read({ rate: 1 })": `unknown parameter "rate"`,
		"new stream.Client({ transport: 'rest', address: 'a:1' }).read({ body: 1 })": "body must be a text or an ArrayBuffer",
		"new stream.Client({ transport: 'rest', address: 'a:1' }).read({})":          "name and target are missing",
	} {
		if got := newVU(t).Throws(script); !strings.Contains(got, words) {
			t.Errorf("%s: want %q, got %s", script, words, got)
		}
	}
}
