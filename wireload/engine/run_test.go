package engine

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport/transporttest"
)

func TestAClosedLoadCountsWhatTheServerHasSeen(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int64
			reply := p.reply
			p.reply = func(n int) []byte { seen.Add(1); return reply(n) }
			load := p.load(transporttest.Serve(t, p.answering(0)), 200*time.Millisecond)
			load.Users = 4
			measured := measure(t, load)
			if measured.RequestsTotal[histogram.OK] < 4 || len(measured.RequestsTotal) != 1 {
				t.Fatalf("want successes alone, got %v: %v", measured.RequestsTotal, measured.Errors)
			}
			if measured.RequestsTotal[histogram.OK] != seen.Load() {
				t.Errorf("want the %d that the server has seen, got %v", seen.Load(), measured.RequestsTotal)
			}
			if measured.BytesReceived == 0 {
				t.Errorf("want the bytes of all requests, got none")
			}
		})
	}
}

// TestARequestThatIsDueWhileAllAreBusyIsSentLate has requests due twice as often as one connection has replies.
func TestARequestThatIsDueWhileAllAreBusyIsSentLate(t *testing.T) {
	p := protocols["socket"]
	load := p.load(transporttest.Serve(t, p.answering(20*time.Millisecond)), 400*time.Millisecond)
	load.RatePerS = 100
	measured := measure(t, load)
	if measured.RequestsTotal[histogram.OK] != 40 || measured.DroppedIterations != 0 {
		t.Fatalf("want all 40, got %v, and %d not sent", measured.RequestsTotal, measured.DroppedIterations)
	}
	response := measured.Merged("response")
	if longest := response.Max(); longest < int64(150*time.Millisecond) {
		t.Errorf("want the wait in the response time, got %s at most", time.Duration(longest))
	}
}

func TestWhatCannotBeSentWithinATimeoutOfTheEndIsCounted(t *testing.T) {
	p := protocols["socket"]
	load := p.load(transporttest.Serve(t, p.answering(100*time.Millisecond)), 200*time.Millisecond)
	load.RatePerS, load.Timeout = 200, 150*time.Millisecond
	measured := measure(t, load)
	sent := int64(0)
	for _, count := range measured.RequestsTotal {
		sent += count
	}
	if sent+measured.DroppedIterations != 40 || measured.DroppedIterations < 20 {
		t.Errorf("want 40 in all, most of them not sent, got %d sent and %d not", sent, measured.DroppedIterations)
	}
}

func TestAnOpenLoadOpensConnectionsWhenAllAreBusy(t *testing.T) {
	p := protocols["socket"]
	var connections atomic.Int64
	answer := p.answering(300 * time.Millisecond)
	load := p.load(transporttest.Serve(t, func(c net.Conn) {
		connections.Add(1)
		answer(c)
	}), 400*time.Millisecond)
	load.RatePerS, load.UsersMax = 20, 4
	measure(t, load)
	if got := connections.Load(); got != 4 {
		t.Errorf("want 4 connections, got %d", got)
	}
}

func TestReopenedConnections(t *testing.T) {
	for name, p := range protocols {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int64
			load := p.load(transporttest.Serve(t, func(c net.Conn) {
				connections.Add(1)
				p.answering(0)(c)
			}), time.Minute)
			load.Calls, load.Reopen = 10, true
			measured := measure(t, load)
			if measured.RequestsTotal[histogram.OK] != 10 || connections.Load() != 10 {
				t.Errorf("want 10 of both, got %v on %d connections", measured.RequestsTotal, connections.Load())
			}
		})
	}
}
