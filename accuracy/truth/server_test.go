package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What a client sees must hold what the server says, however busy the machine is: a request arrives after it was sent,
// ends after its latency, and has ended when the next one is answered.
func TestTruthAgreesWithClient(t *testing.T) {
	const calls, latency = 100, 3 * time.Millisecond
	for transport, open := range clients {
		t.Run(transport, func(t *testing.T) {
			s, address := start(t, transport, behaviour{name: "constant", latency: latency})
			call := open(dial(t, address))
			sent, received := make([]int64, calls), make([]int64, calls)
			for i := range calls {
				sent[i] = time.Now().UnixNano()
				reply, err := call(1_000_001 + i)
				received[i] = time.Now().UnixNano()
				if want := fmt.Sprintf("user%d@example.com", 1_000_001+i); err != nil || !bytes.Contains(reply, []byte(want)) {
					t.Fatalf("call %d: %q, %v: want %q", i, reply, err, want)
				}
			}
			closest := int64(math.MaxInt64)
			for i, r := range s.logged()[:calls-1] {
				if r.arrived < sent[i] || r.arrived+int64(latency) > min(r.ended, received[i]) || r.ended > received[i+1] {
					t.Errorf("request %d: sent %d, arrived %d, ended %d, received %d", i, sent[i], r.arrived, r.ended, received[i])
				}
				closest = min(closest, max(received[i]-sent[i]-(r.ended-r.arrived), r.ended-r.arrived-(received[i]-sent[i])))
			}
			if closest > int64(time.Millisecond) {
				t.Errorf("no request took the client within 1 ms of the truth, but %v", time.Duration(closest))
			}
		})
	}
}

// A request that comes while the one before it is being answered waits in the kernel, which knows since when. The
// kernel may need a moment to begin with its timestamps.
func TestWaitInSocketCounts(t *testing.T) {
	for range 10 {
		s, address := start(t, "rest", behaviour{name: "constant", latency: 100 * time.Millisecond})
		connection := dial(t, address)
		for range 2 {
			io.WriteString(connection, "GET /api/users/1 HTTP/1.1\r\n\r\n")
			time.Sleep(20 * time.Millisecond) // so that the server reads the first alone
		}
		logged := s.logged()
		for ; len(logged) < 2; logged = s.logged() {
			time.Sleep(time.Millisecond)
		}
		if logged[1].arrived < logged[0].ended {
			return
		}
	}
	t.Error("the second request arrived after the first had been answered")
}

// Calls that share a connection are each answered when they are due.
func TestCallsOfAConnectionDoNotWaitForEachOther(t *testing.T) {
	const calls, latency = 20, 100 * time.Millisecond
	_, address := start(t, "grpc", behaviour{name: "constant", latency: latency})
	send, receive := openGRPC(dial(t, address))
	began := time.Now()
	for id := range calls {
		send(id)
	}
	for range calls {
		if _, err := receive(); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took > calls*latency/2 {
		t.Errorf("%d calls took %v", calls, took)
	}
}

// Who sends something else is hung up on, and the others are served.
func TestGarbageEndsItsConnectionOnly(t *testing.T) {
	for transport, open := range clients {
		t.Run(transport, func(t *testing.T) {
			_, address := start(t, transport, behaviour{name: "null"})
			call := open(dial(t, address))
			for _, garbage := range []string{"\x00\x00\x00\x00\x00", "POST /api/users HTTP/1.1\r\n\r\n", "WB1J\xff\xff\xff\xff", strings.Repeat("x", 100_000)} {
				stranger := dial(t, address)
				io.WriteString(stranger, garbage)
				stranger.(*net.TCPConn).CloseWrite()
				if reply, _ := io.ReadAll(stranger); bytes.Contains(reply, []byte("@example.com")) {
					t.Errorf("%.10q is answered by %q", garbage, reply)
				}
				if _, err := call(1); err != nil {
					t.Fatalf("after %.10q: %v", garbage, err)
				}
			}
		})
	}
}

func TestWindowsAreToldByTheEndsOfRequests(t *testing.T) {
	log := newRequestLog()
	for end := range int64(1000) {
		log.add(request{arrived: end*1e6 - 1 - end*1000, ended: end * 1e6}, end%2 == 0)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go log.answer(listener)
	admin := dial(t, listener.Addr().String())
	answers := bufio.NewReader(admin)
	for line, want := range map[string]string{
		"100000000 200000000": `{"requests":100,"requests_without_kernel_timestamp":500,"requests_lost":0,"histogram":"`,
		"0 0":                 `{"requests":0,`,
		"soon later":          `"soon later" isn't START END in Unix ns`,
	} {
		fmt.Fprintln(admin, line)
		if answer, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(answer, want) {
			t.Errorf("%s: %s, %v: want %s", line, answer, err, want)
		}
	}
}

func TestLatenciesAreThoseOfTheWindow(t *testing.T) {
	log := newRequestLog()
	for n := range int64(10) {
		log.add(request{arrived: 100 * n, ended: 100*n + n + 1}, true)
	}
	latencies, err := hdrhistogram.Decode([]byte(log.truth(200, 500).Histogram))
	if err != nil || latencies.TotalCount() != 3 || latencies.Min() != 3 || latencies.Max() != 5 {
		t.Errorf("%v, %v", latencies, err)
	}
}

func TestFullLogSaysWhatItLost(t *testing.T) {
	log := newRequestLog()
	for range requestsMax + 3 {
		log.add(request{ended: 1}, true)
	}
	if got := log.truth(0, 2); got.Requests != requestsMax || got.Lost != 3 {
		t.Errorf("%d requests, %d lost", got.Requests, got.Lost)
	}
}

// A load of 10,000 connections fits into the usual limit of open files.
func TestOnlyWhatWaitsHasATimer(t *testing.T) {
	for want, latency := range []time.Duration{0, time.Millisecond} {
		before := countTimers(t)
		_, address := start(t, "rest", behaviour{name: "constant", latency: latency})
		if _, err := clients["rest"](dial(t, address))(1); err != nil {
			t.Fatal(err)
		}
		if got := countTimers(t) - before; got != want {
			t.Errorf("latency %v: %d open timers, want %d", latency, got, want)
		}
	}
}

func countTimers(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		if target, _ := os.Readlink(file); target == "anon_inode:[timerfd]" {
			count++
		}
	}
	return count
}
