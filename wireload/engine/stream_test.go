package engine

import (
	"bufio"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport/transporttest"
)

// streaming answers each request with events that are so far apart; with `ends`, to the end of the body.
func streaming(items int, gap time.Duration, ends bool) func(net.Conn) {
	return func(c net.Conn) {
		r := bufio.NewReader(c)
		for readLines(r) == nil {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"))
			for range items {
				time.Sleep(gap)
				if _, err := c.Write([]byte("a\r\ndata: {}\n\n\r\n")); err != nil {
					return
				}
			}
			if !ends {
				_, _ = r.ReadByte()
				return
			}
			_, _ = c.Write([]byte("0\r\n\r\n"))
		}
	}
}

func streamLoad(address string, duration time.Duration) *Load {
	p := protocols["rest"]
	p.request.Stream, p.request.Items = true, 6
	return p.load(address, duration)
}

func TestItemsOfStreamsAreTimedAndCounted(t *testing.T) {
	wrong := ""
	load := streamLoad(transporttest.Serve(t, streaming(5, 10*time.Millisecond, true)), time.Minute)
	load.Calls, load.CheckEvery = 3, 1
	load.OnMismatch = func(_ string, err error) { wrong = err.Error() }
	measured := measure(t, load)
	if wrong != "get: 5 items, not 6" || measured.RequestsTotal[histogram.OK] != 3 || measured.Streams == nil || measured.Streams.Items != 15 {
		t.Fatalf("want 3 streams of 5 items, got %v, %v: %v", measured.RequestsTotal, measured.Streams, measured.Errors)
	}
	gaps, first := measured.Merged("gap"), measured.Merged("first_item")
	// A busy machine hands several items over at once: only their sum can't be too small.
	sum := gaps.Mean() * float64(gaps.TotalCount())
	if gaps.TotalCount() != 12 || first.TotalCount() != 3 || sum < float64(60*time.Millisecond) {
		t.Errorf("want 12 gaps of 10 ms, got %d of %s in all", gaps.TotalCount(), time.Duration(sum))
	}
}

func TestStreamsThatAreDueAndNeverBeginAreDropped(t *testing.T) {
	load := streamLoad(transporttest.Serve(t, streaming(1000, 5*time.Millisecond, true)), 200*time.Millisecond)
	load.RatePerS = 100 // One user reads the first of twenty until the end.
	measured := measure(t, load)
	if measured.Streams == nil || measured.Streams.Cancelled != 1 || measured.DroppedIterations != 19 {
		t.Errorf("want 1 cancelled and 19 dropped, got %v, %d", measured.Streams, measured.DroppedIterations)
	}
}

func TestAStreamThatStallsFails(t *testing.T) {
	load := streamLoad(transporttest.Serve(t, streaming(2, time.Millisecond, false)), time.Minute)
	load.Calls, load.Timeout = 1, 200*time.Millisecond
	measured := measure(t, load)
	if measured.RequestsTotal[histogram.DeadlineExceeded] != 1 {
		t.Errorf("want a timeout, got %v: %v", measured.RequestsTotal, measured.Errors)
	}
}

func TestUsersStartOneAfterTheOther(t *testing.T) {
	p := protocols["socket"]
	var connections atomic.Int64
	answer := p.answering(0)
	count := func(c net.Conn) {
		connections.Add(1)
		answer(c)
	}
	load := p.load(transporttest.Serve(t, count), 300*time.Millisecond)
	load.Users, load.SpawnRatePerS = 1000, 20 // Six or seven users of a thousand start.
	began := time.Now()
	measured := measure(t, load)
	if measured.RequestsTotal[histogram.OK] == 0 || time.Since(began) > 30*time.Second {
		t.Errorf("want the load to end in time, got %v after %s", measured.RequestsTotal, time.Since(began))
	}
	if got := connections.Load(); got < 2 || got > 8 {
		t.Errorf("want six or seven users, got %d", got)
	}
}
