package engine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// echoSource makes requests whose bodies differ, and wants each back.
type echoSource struct {
	request.Constant
	user, n, padding int
	body             []byte
}

func (s *echoSource) Next(r *request.Request) {
	s.n++
	s.body = fmt.Appendf(s.body[:0], "%d/%d%s", s.user, s.n, strings.Repeat("x", s.padding))
	*r = s.Request
	r.Body = s.body
}

func (s *echoSource) Check(_ *request.Request, reply []byte) error {
	if !bytes.Equal(reply, s.body) {
		return fmt.Errorf("want %.20q of %d bytes, got %.20q of %d", s.body, len(s.body), reply, len(reply))
	}
	return nil
}

// echo answers with the body of the request, on both protocols.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if kind := r.Header.Get("Content-Type"); kind == "application/grpc" {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Trailer", "Grpc-Status")
		defer w.Header().Set("Grpc-Status", "0")
	}
	_, _ = w.Write(body)
}

// multiplexed is a load of users who share connections to Go's own server, and wants each reply to be its request's.
type multiplexed struct {
	server      http2.Server
	handler     http.HandlerFunc
	connections atomic.Int64
}

func (m *multiplexed) serve(c net.Conn) {
	m.connections.Add(1)
	m.server.ServeConn(c, &http2.ServeConnOpts{Handler: m.handler})
}

func (m *multiplexed) load(t *testing.T, name string, users, connections, calls, padding int) *Load {
	p := protocols[name]
	if name == "h2c" {
		p.request.Method = "POST"
	}
	load := p.load(transporttest.Serve(t, m.serve), time.Minute)
	load.Users, load.Connections, load.Calls, load.CheckEvery = users, connections, calls, 1
	load.OnMismatch = func(_ string, err error) { t.Error(err) }
	load.NewSource = func(user int) request.Source {
		return &echoSource{Constant: request.Constant{Request: p.request}, user: user, padding: padding}
	}
	return load
}

func forMultiplexed(t *testing.T, test func(*testing.T, string)) {
	for _, name := range []string{"h2c", "grpc"} {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

func expectSuccesses(t *testing.T, measured histogram.File, want int64) {
	t.Helper()
	if measured.RequestsTotal[histogram.OK] != want || len(measured.Errors) != 0 {
		t.Errorf("want %d successes, got %v: %v", want, measured.RequestsTotal, measured.Errors)
	}
}

func TestUsersShareConnections(t *testing.T) {
	for what, each := range map[string]struct {
		server                                 http2.Server
		users, connections, calls, padding, at int
	}{
		"one":                      {users: 64, connections: 1, calls: 50},
		"several":                  {users: 10, connections: 4, calls: 50},
		"big replies in parallel":  {users: 8, connections: 1, calls: 5, padding: 300_000},
		"one stream at once":       {users: 8, connections: 1, calls: 20, at: 1, server: http2.Server{MaxConcurrentStreams: 1}},
		"windows smaller than all": {users: 8, connections: 1, calls: 5, padding: 100_000, server: http2.Server{MaxUploadBufferPerConnection: 65_535}},
	} {
		t.Run(what, func(t *testing.T) {
			forMultiplexed(t, func(t *testing.T, name string) {
				var active, most atomic.Int64
				m := &multiplexed{server: each.server, handler: func(w http.ResponseWriter, r *http.Request) {
					most.Store(max(most.Load(), active.Add(1)))
					defer active.Add(-1)
					echo(w, r)
				}}
				load := m.load(t, name, each.users, each.connections, each.calls, each.padding)
				measured := measure(t, load)
				expectSuccesses(t, measured, int64(each.users*each.calls))
				if got := m.connections.Load(); got != int64(each.connections) || measured.BytesReceived == 0 {
					t.Errorf("want %d connections, got %d; bytes: %v", each.connections, got, measured.BytesReceived)
				}
				if at := int64(each.at); at > 0 && (most.Load() > at || measured.Retried > 0) {
					t.Errorf("want %d stream at once, got %d, and %d retried", at, most.Load(), measured.Retried)
				}
			})
		})
	}
}

func TestOneStreamsFailureIsNoOthers(t *testing.T) {
	forMultiplexed(t, func(t *testing.T, name string) {
		var seen atomic.Int64
		m := &multiplexed{handler: func(w http.ResponseWriter, r *http.Request) {
			switch seen.Add(1) {
			case 10, 20:
				panic(http.ErrAbortHandler) // It resets the stream.
			case 30:
				<-r.Context().Done()
			}
			echo(w, r)
		}}
		load := m.load(t, name, 8, 1, 10, 0)
		load.Timeout = 300 * time.Millisecond
		measured := measure(t, load)
		if measured.RequestsTotal[histogram.OK] != 77 || measured.ErrorClasses[string(transport.Rejected)] != 2 || measured.ErrorClasses[string(transport.Timeout)] != 1 {
			t.Errorf("want 77 successes, 2 that were reset and 1 timeout, got %v: %v", measured.RequestsTotal, measured.Errors)
		}
		if got := m.connections.Load(); got != 1 {
			t.Errorf("want 1 connection, got %d", got)
		}
	})
}

// scripted handles connections: the first takes so many requests, and does then what the script says. The others answer.
func scripted(p protocol, requests int, script func(net.Conn)) func(net.Conn) {
	var connections atomic.Int64
	return func(c net.Conn) {
		_, _ = c.Write(p.reply(0)[:9]) // SETTINGS.
		if connections.Add(1) > 1 {
			p.answering(0)(c)
			return
		}
		for r := bufio.NewReader(c); requests > 0 && p.readRequest(r) == nil; requests-- {
		}
		script(c)
	}
}

func TestTheEndOfASharedConnectionFailsEachOfItsCallsOnce(t *testing.T) {
	forMultiplexed(t, func(t *testing.T, name string) {
		load := protocols[name].load(transporttest.Serve(t, scripted(protocols[name], 8, func(net.Conn) {})), time.Minute)
		load.Users, load.Connections, load.Calls = 8, 1, 3
		measured := measure(t, load)
		if measured.ErrorClasses[string(transport.Closed)] != 8 || measured.RequestsTotal[histogram.OK] != 16 || measured.Retried != 0 {
			t.Errorf("want 8 failures and 16 successes, got %v: %v", measured.RequestsTotal, measured.Errors)
		}
	})
}

// TestStreamsAboveTheLastOneAreSentAgain has a server process two of eight streams, and leave when it has answered them.
func TestStreamsAboveTheLastOneAreSentAgain(t *testing.T) {
	forMultiplexed(t, func(t *testing.T, name string) {
		p := protocols[name]
		load := p.load(transporttest.Serve(t, scripted(p, 8, func(c net.Conn) {
			_ = http2.NewFramer(c, nil).WriteGoAway(3, http2.ErrCodeNo, nil)
			_, _ = c.Write(append(p.reply(0), p.reply(1)...))
			_, _ = io.Copy(io.Discard, c) // Until the client closes.
		})), time.Minute)
		load.Users, load.Connections, load.Calls = 8, 1, 3
		measured := measure(t, load)
		expectSuccesses(t, measured, 24)
		if measured.Retried != 6 {
			t.Errorf("want 6 sent again, got %d", measured.Retried)
		}
	})
}

// TestACallThatTimesOutInTheQueueIsNotSentAgain has a server take one stream at once, and answer none.
func TestACallThatTimesOutInTheQueueIsNotSentAgain(t *testing.T) {
	forMultiplexed(t, func(t *testing.T, name string) {
		m := &multiplexed{server: http2.Server{MaxConcurrentStreams: 1}, handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
		load := m.load(t, name, 8, 1, 1, 0)
		load.Timeout = 100 * time.Millisecond
		measured := measure(t, load)
		if measured.ErrorClasses[string(transport.Timeout)] != 8 || measured.Retried != 0 {
			t.Errorf("want 8 timeouts, got %v: %v, %d sent again", measured.ErrorClasses, measured.Errors, measured.Retried)
		}
	})
}

// TestAServerThatReadsNothingIsLeft has a server send pings, and read no answer.
func TestAServerThatReadsNothingIsLeft(t *testing.T) {
	p := protocols["grpc"]
	ping := bytes.Repeat(transporttest.Frames(func(f *http2.Framer) { _ = f.WritePing(false, [8]byte{}) }), 10_000)
	load := p.load(transporttest.Serve(t, func(c net.Conn) {
		_, err := c.Write(p.reply(0)[:9]) // SETTINGS.
		for err == nil {
			_, err = c.Write(ping)
		}
	}), time.Minute)
	load.Connections, load.Calls, load.Timeout = 1, 1, time.Minute
	expectOnly(t, measure(t, load), transport.Garbage)
}

func TestAnInterruptEndsAllCallsOfASharedConnection(t *testing.T) {
	forMultiplexed(t, func(t *testing.T, name string) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen atomic.Int64
		m := &multiplexed{handler: func(_ http.ResponseWriter, r *http.Request) {
			if seen.Add(1) == 8 {
				cancel()
			}
			<-r.Context().Done()
		}}
		began := time.Now()
		measured, err := Run(ctx, m.load(t, name, 8, 1, 10, 0), "test")
		if err != nil || len(measured.RequestsTotal) != 0 || time.Since(began) > 4*time.Second {
			t.Errorf("want nothing at once, got %v, %v after %s", measured.RequestsTotal, err, time.Since(began))
		}
	})
}

// TestStreamsShareConnections reads items of several streams at once, until the load cancels them.
func TestStreamsShareConnections(t *testing.T) {
	item := map[string]string{"grpc": "\x00\x00\x00\x00\x02\x08\x01", "h2c": "data: {}\n\n"}
	forMultiplexed(t, func(t *testing.T, name string) {
		m := &multiplexed{handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", map[string]string{"grpc": "application/grpc", "h2c": "text/event-stream"}[name])
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, item[name])
				w.(http.Flusher).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		}}
		p := protocols[name]
		p.request.Stream = true
		load := p.load(transporttest.Serve(t, m.serve), 200*time.Millisecond)
		load.Users, load.Connections = 4, 1
		measured := measure(t, load)
		if measured.Streams == nil || measured.Streams.Cancelled != 4 || measured.Streams.Items < 8 || len(measured.Errors) > 0 {
			t.Errorf("want 4 cancelled streams of some items, got %v: %v", measured.Streams, measured.Errors)
		}
	})
}
