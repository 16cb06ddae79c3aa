package engine

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// cutReplies are the beginnings of good replies.
func (p protocol) cutReply() []byte {
	whole := p.reply(0)
	return whole[:len(whole)-3]
}

func TestFailuresAreCountedByClass(t *testing.T) {
	faults := map[transport.Class]func(protocol, net.Conn, *bufio.Reader){
		transport.Closed: func(protocol, net.Conn, *bufio.Reader) {},
		transport.Reset:  func(_ protocol, c net.Conn, _ *bufio.Reader) { reset(c) },
		transport.CutShort: func(p protocol, c net.Conn, r *bufio.Reader) {
			_, _ = c.Write(p.cutReply())
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, r) // What it hasn't read would have the kernel reset the connection.
		},
		transport.Garbage: func(_ protocol, c net.Conn, r *bufio.Reader) {
			_, _ = c.Write([]byte("\xff\xff\xff this is no reply of any protocol\r\n\r\n"))
			_, _ = r.ReadByte() // Until the client has had enough.
		},
		transport.Timeout: func(_ protocol, _ net.Conn, r *bufio.Reader) { _, _ = r.ReadByte() },
	}
	for name, p := range protocols {
		for class, fault := range faults {
			t.Run(name+"/"+string(class), func(t *testing.T) {
				address := transporttest.Serve(t, func(c net.Conn) {
					r := bufio.NewReader(c)
					if p.readRequest(r) == nil {
						fault(p, c, r)
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
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			load := p.load(listener.Addr().String(), time.Minute)
			load.Calls = 5
			expectOnly(t, measure(t, load), transport.Refused)
		})
	}
}

func TestAServerWithoutTLSIsAFailure(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			address := transporttest.Serve(t, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) })
			load := p.load(address, time.Minute)
			load.Calls, load.TLS = 20, &tls.Config{MinVersion: tls.VersionTLS12}
			measured := measure(t, load)
			// Whether the reset of what the server didn't read overtakes its words is the kernel's business.
			if measured.ErrorClasses[string(transport.TLS)] == 0 || measured.RequestsTotal[histogram.OK] != 0 {
				t.Errorf("want failures of TLS, got %v: %v", measured.ErrorClasses, measured.Errors)
			}
		})
	}
}

// answerOnce handles a connection as a server that closes it at its second request.
func (p protocol) answerOnce(c net.Conn) {
	r := bufio.NewReader(c)
	_ = p.readRequest(r)
	_, _ = c.Write(p.reply(0))
	_ = p.readRequest(r)
}

// TestARequestThatMetAClosedConnectionIsSentAgain has servers close each connection at its second request, which may be
// processed twice.
func TestARequestThatMetAClosedConnectionIsSentAgain(t *testing.T) {
	for _, name := range []string{"rest", "h2c", "grpc", "socket"} {
		p := protocols[name]
		p.request.Idempotent = true
		t.Run(name, func(t *testing.T) {
			load := p.load(transporttest.Serve(t, p.answerOnce), time.Minute)
			load.Calls = 10
			measured := measure(t, load)
			if measured.RequestsTotal[histogram.OK] != 10 || len(measured.Errors) != 0 || measured.Retried != 9 {
				t.Errorf("want 10 successes, 9 of them at the second try, got %v, %d retried: %v",
					measured.RequestsTotal, measured.Retried, measured.Errors)
			}
		})
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

// forRejections runs a test for each rejection on each HTTP/2 transport. No request is idempotent, because a rejected one can
// be sent again in any case.
func forRejections(t *testing.T, test func(*testing.T, protocol, transport.Class)) {
	for _, name := range []string{"h2c", "grpc"} {
		for class := range rejections {
			t.Run(name+"/"+string(class), func(t *testing.T) { test(t, protocols[name], class) })
		}
	}
}

// rejecting handles connections as a server that rejects some requests, each after a delay. It counts the requests of all
// connections, from 1.
func (p protocol) rejecting(class transport.Class, takes time.Duration, requests *atomic.Int64, rejects func(int64) bool) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; p.readRequest(r) == nil; n++ {
			if rejects(requests.Add(1)) {
				time.Sleep(takes)
				_ = rejections[class](http2.NewFramer(c, nil), uint32(2*n+1))
				continue
			}
			_, _ = c.Write(p.reply(n))
		}
	}
}

func TestARequestThatTheServerRefusedIsSentAgainAndTimedFromItsDueMoment(t *testing.T) {
	const requests, takes = 5, 50 * time.Millisecond
	forRejections(t, func(t *testing.T, p protocol, class transport.Class) {
		var seen atomic.Int64
		isFirst := func(n int64) bool { return n%2 == 1 }
		load := p.load(transporttest.Serve(t, p.rejecting(class, takes, &seen, isFirst)), requests*10*time.Millisecond)
		load.RatePerS = 100
		load.Measured.ByDue = true
		measured := measure(t, load)
		if measured.RequestsTotal[histogram.OK] != requests || len(measured.Errors) != 0 || measured.Retried != requests || seen.Load() != 2*requests {
			t.Fatalf("want %d successes, all at the second try, got %v, %d retried: %v",
				requests, measured.RequestsTotal, measured.Retried, measured.Errors)
		}
		response := measured.Merged("response")
		// The last one also waits for those before it, less the time between their due moments.
		const last = requests*takes - (requests-1)*10*time.Millisecond
		if response.TotalCount() != requests || response.Min() < int64(takes)*999/1000 || response.Max() < int64(last)*999/1000 {
			t.Errorf("want %d response times from %s to at least %s, got %d from %s to %s", requests, takes, last,
				response.TotalCount(), time.Duration(response.Min()), time.Duration(response.Max()))
		}
	})
}

func TestAWriteIsNotSentAgain(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			load := p.load(transporttest.Serve(t, p.answerOnce), time.Minute)
			load.Calls = 4
			measured := measure(t, load)
			if measured.Retried != 0 || measured.ErrorClasses[string(transport.Closed)] != 2 {
				t.Errorf("want 2 failures and none sent again, got %d, %v", measured.Retried, measured.Errors)
			}
		})
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
			if measured.RequestsTotal[histogram.OK] != 3 || measured.Retried != 0 {
				t.Errorf("want 3 successes, none at a second try, got %v, %d: %v", measured.RequestsTotal, measured.Retried, measured.Errors)
			}
		})
	}
}
