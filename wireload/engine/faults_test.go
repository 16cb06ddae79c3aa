package engine

import (
	"bufio"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

func TestFailuresAreCountedByClass(t *testing.T) {
	faults := map[transport.Class]func(net.Conn, *bufio.Reader){
		transport.Closed: func(net.Conn, *bufio.Reader) {},
		transport.Reset:  func(c net.Conn, _ *bufio.Reader) { _ = c.(*net.TCPConn).SetLinger(0) },
		transport.Garbage: func(c net.Conn, r *bufio.Reader) {
			_, _ = c.Write([]byte("\xff\xff\xff this is no reply of any protocol\r\n\r\n"))
			_, _ = r.ReadByte() // Until the client has had enough.
		},
		transport.Timeout: func(_ net.Conn, r *bufio.Reader) { _, _ = r.ReadByte() },
	}
	for name, p := range protocols {
		for class, fault := range faults {
			t.Run(name+"/"+string(class), func(t *testing.T) {
				address := transporttest.Serve(t, func(c net.Conn) {
					r := bufio.NewReader(c)
					if p.readRequest(r) == nil {
						fault(c, r)
					}
				})
				load := p.load(address, time.Minute)
				load.Calls = 2
				if class == transport.Timeout {
					load.Timeout = 150 * time.Millisecond
				}
				expectOnly(t, measure(t, load), class)
			})
		}
	}
}

// expectOnly wants failures of this class, and nothing else.
func expectOnly(t *testing.T, measured histogram.File, class transport.Class) {
	t.Helper()
	if len(measured.ErrorClasses) != 1 || measured.ErrorClasses[string(class)] == 0 {
		t.Errorf("want failures of class %s, got %v: %v", class, measured.ErrorClasses, measured.Errors)
	}
	if measured.RequestsTotal[histogram.OK] != 0 || len(measured.Errors) != 1 {
		t.Errorf("want one kind of words and no success, got %v, %v", measured.Errors, measured.RequestsTotal)
	}
}

func TestARefusedConnectionIsAFailure(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	for connections := range 2 {
		load := protocols["grpc"].load(listener.Addr().String(), time.Minute)
		load.Users, load.Connections, load.Calls = 4, connections, 5
		measured := measure(t, load)
		expectOnly(t, measured, transport.Refused)
		if got := measured.ErrorClasses[string(transport.Refused)]; got != 20 {
			t.Errorf("want 20 failures, got %d", got)
		}
	}
}

// TestALongRequestMayBeAnsweredEarly has servers reject a body of 20 MB after its first bytes, and read no more of it.
func TestALongRequestMayBeAnsweredEarly(t *testing.T) {
	for name, reply := range map[string][]byte{
		"rest":   []byte("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"),
		"socket": transporttest.AppendReply(nil, transporttest.Reply{ID: 1, Status: 8, Message: "too large"}),
	} {
		p := protocols[name]
		p.request.Method, p.request.Body = "POST", make([]byte, 20_000_000)
		load := p.load(transporttest.Serve(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			_, _ = r.ReadByte()
			_, _ = c.Write(reply)
			time.Sleep(time.Second)
		}), time.Minute)
		load.Calls = 3
		if measured := measure(t, load); measured.RequestsTotal[histogram.ResourceExhausted] != 3 {
			t.Errorf("%s: want three that are rejected, got %v: %v", name, measured.RequestsTotal, measured.Errors)
		}
	}
}

// answerOnce handles a connection as a server that closes it at its second request.
func (p protocol) answerOnce(c net.Conn) {
	r := bufio.NewReader(c)
	_ = p.readRequest(r)
	_, _ = c.Write(p.reply(0))
	_ = p.readRequest(r)
}

// TestOnlyAnHTTPRequestThatMayBeProcessedTwiceIsSentAgain has servers close each connection at its second request.
func TestOnlyAnHTTPRequestThatMayBeProcessedTwiceIsSentAgain(t *testing.T) {
	for name, p := range protocols {
		for _, mayBe := range []bool{false, true} {
			t.Run(fmt.Sprint(name, mayBe), func(t *testing.T) {
				p.request.Method = map[bool]string{true: "PUT", false: "POST"}[mayBe]
				load := p.load(transporttest.Serve(t, p.answerOnce), time.Minute)
				load.Calls = 10
				measured := measure(t, load)
				failures, retried := measured.ErrorClasses[string(transport.Closed)], measured.Retried
				wantFailures, wantRetried := int64(5), int64(0)
				if name == "rest" && mayBe {
					wantFailures, wantRetried = 0, 9
				}
				if failures != wantFailures || retried != wantRetried {
					t.Errorf("got %d failures, and %d sent again: %v", failures, retried, measured.Errors)
				}
			})
		}
	}
}

// rejections are how an HTTP/2 server says that it has not processed a stream.
var rejections = map[transport.Class]func(server *http2.Framer, stream uint32) error{
	transport.Rejected: func(server *http2.Framer, stream uint32) error {
		return server.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
	},
	transport.Closed: func(server *http2.Framer, stream uint32) error {
		return server.WriteGoAway(max(stream, 2)-2, http2.ErrCodeNo, nil)
	},
}

// TestARequestThatWasRejectedIsSentAgainAndTimedFromItsDueMoment has a server reject every other request after a delay. None
// is idempotent, because a rejected one can be sent again in any case.
func TestARequestThatWasRejectedIsSentAgainAndTimedFromItsDueMoment(t *testing.T) {
	const requests, takes = 5, 50 * time.Millisecond
	p := protocols["grpc"]
	for class, reject := range rejections {
		var seen atomic.Int64
		serve := func(c net.Conn) {
			r := bufio.NewReader(c)
			for n := 0; p.readRequest(r) == nil; n++ {
				if seen.Add(1)%2 == 1 {
					time.Sleep(takes)
					_ = reject(http2.NewFramer(c, nil), uint32(2*n+1))
				} else {
					_, _ = c.Write(p.reply(n))
				}
			}
		}
		load := p.load(transporttest.Serve(t, serve), requests*10*time.Millisecond)
		load.RatePerS, load.Measured.ByDue = 100, true
		measured := measure(t, load)
		if measured.RequestsTotal[histogram.OK] != requests || len(measured.Errors) != 0 || measured.Retried != requests {
			t.Fatalf("%s: want %d successes, all at the second try, got %v, %d retried: %v",
				class, requests, measured.RequestsTotal, measured.Retried, measured.Errors)
		}
		response := measured.Merged("response")
		// The last one also waits for those before it, less the time between their due moments.
		const last = requests*takes - (requests-1)*10*time.Millisecond
		if response.TotalCount() != requests || response.Min() < int64(takes)*999/1000 || response.Max() < int64(last)*999/1000 {
			t.Errorf("%s: want %d response times from %s to at least %s, got %d from %s to %s", class, requests, takes, last,
				response.TotalCount(), time.Duration(response.Min()), time.Duration(response.Max()))
		}
	}
}

// TestAnIdleConnectionAnswersPings has a server ping a second after each reply, and close if that isn't answered at once.
func TestAnIdleConnectionAnswersPings(t *testing.T) {
	for _, name := range []string{"grpc", "h2c"} {
		p := protocols[name]
		load := p.load(transporttest.Serve(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			for n := 0; p.readRequest(r) == nil; n++ {
				_, _ = c.Write(p.reply(n))
				server := http2.NewFramer(c, r)
				_ = server.WritePing(false, [8]byte{1})
				_ = c.SetReadDeadline(time.Now().Add(600 * time.Millisecond))
				for isAnswered := false; !isAnswered; {
					frame, err := server.ReadFrame()
					if err != nil {
						return
					}
					isAnswered = frame.Header().Type == http2.FramePing && frame.Header().Flags.Has(http2.FlagPingAck)
				}
				_ = c.SetReadDeadline(time.Time{})
			}
		}), 2*time.Second)
		load.RatePerS = 1
		if measured := measure(t, load); measured.RequestsTotal[histogram.OK] != 2 || measured.Reconnects != 0 {
			t.Errorf("%s: got %v, %d reconnects: %v", name, measured.RequestsTotal, measured.Reconnects, measured.Errors)
		}
	}
}

// look is a client that says when its idle connection is looked at.
type look chan time.Time

func (l look) Tend() { l <- time.Now() }

// TestManyIdleConnectionsAreNotTendedAtOnce has 1,000 users, of whom a fifth is looked at.
func TestManyIdleConnectionsAreNotTendedAtOnce(t *testing.T) {
	const count = 200
	r, looks, began := newRun(t.Context(), protocols["grpc"].load("", time.Minute)), make(look, 5*count), time.Now()
	r.started.Store(5 * count)
	for number := range count {
		u := newUser(r, number)
		u.connection, u.socket = &net.TCPConn{}, &meteredConnection{}
		go u.tend(looks)
	}
	first, last := <-looks, time.Time{}
	for range count - 1 {
		last = <-looks
	}
	if first.Sub(began) < 500*time.Millisecond || last.Sub(first) < 200*time.Millisecond {
		t.Errorf("all are looked at from %s to %s after they began to be idle", first.Sub(began), last.Sub(began))
	}
}

// TestAConnectionThatWasClosedWhileIdleIsReplaced has a server that keeps no connection.
func TestAConnectionThatWasClosedWhileIdleIsReplaced(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			address := transporttest.Serve(t, func(c net.Conn) {
				_ = p.readRequest(bufio.NewReader(c))
				_, _ = c.Write(p.reply(0))
			})
			load := p.load(address, time.Minute)
			r := newRun(t.Context(), load)
			u := newUser(r, 0)
			u.source = load.NewSource(0)
			for range 3 {
				u.perform(0)
				for u.connection != nil && !u.socket.isClosed() {
					time.Sleep(time.Millisecond)
				}
				u.lastUsed = 0 // Long ago.
			}
			u.close()
			measured := r.fold.Report(histogram.Driver{}, r.now())
			if measured.RequestsTotal[histogram.OK] != 3 || measured.Retried != 0 || measured.Reconnects != 2 {
				t.Errorf("want 3 successes, none at a second try, got %v, %d: %v", measured.RequestsTotal, measured.Retried, measured.Errors)
			}
		})
	}
}
