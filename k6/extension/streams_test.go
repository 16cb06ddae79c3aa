package main

import (
	"testing"
	"time"

	"wirebench.dev/k6/ledgertest"
)

// onStreams runs stream.js on all transports.
func onStreams(t *testing.T, behaves ledgertest.Behaviour, test func(*testing.T, *ledgertest.Server, k6Run)) {
	t.Helper()
	for _, transport := range ledgertest.Transports {
		t.Run(transport, func(t *testing.T) {
			server := ledgertest.Start(t, transport, behaves)
			test(t, server, k6Run{
				script: "../stream.js", warmup: "0.2", window: "0.8",
				variables: map[string]string{
					"TRANSPORT": transport, "ADDRESS": server.Address, "CONCURRENCY": "3", "STREAM_ITEMS": "20",
				},
			})
		})
	}
}

func TestStreamsAreMeasuredByTheItem(t *testing.T) {
	slow := ledgertest.Behaviour{First: 20 * time.Millisecond, Gap: 5 * time.Millisecond}
	onStreams(t, slow, func(t *testing.T, server *ledgertest.Server, load k6Run) {
		got := load.run(t)
		streams := got.expectOnly(t, "ok")
		if got.Streams.Cancelled > 3 || streams+got.Streams.Cancelled != server.Streams.Load() {
			t.Errorf("k6 counts %d streams and %d cancelled, the server %d", streams, got.Streams.Cancelled, server.Streams.Load())
		}
		if items := got.items(t); items < 20*streams || items > 20*server.Streams.Load() {
			t.Errorf("want 20 items a stream, got %d of %d streams", items, streams)
		}
		first, gap := got.clock(t, "ok", "first_item"), got.clock(t, "ok", "gap")
		if least := time.Duration(first.Min()); least < slow.First*99/100 || first.TotalCount() == 0 {
			t.Errorf("want first items after %s, got %s", slow.First, least)
		}
		if mean := time.Duration(gap.Mean()); mean < slow.Gap*8/10 || mean > slow.Gap*2 {
			t.Errorf("want gaps of %s, got %s", slow.Gap, mean)
		}
		inWindow := int64(0)
		for _, count := range got.Streams.PerSecond {
			inWindow += count
		}
		if inWindow != first.TotalCount()+gap.TotalCount() || inWindow >= got.items(t) {
			t.Errorf("want an interval for each of the window's %d items, got %d and %d", inWindow, first.TotalCount(), gap.TotalCount())
		}
		if server.Connections.Load() != 3 || got.Mismatches != 0 || got.BytesReceived < 100*got.items(t) {
			t.Errorf("unexpected %d connections, %+v", server.Connections.Load(), got)
		}
	})
}

func TestStreamsThatOutliveTheLoadAreCancelled(t *testing.T) {
	slow := ledgertest.Behaviour{Gap: 10 * time.Millisecond}
	onStreams(t, slow, func(t *testing.T, server *ledgertest.Server, load k6Run) {
		load.variables["STREAM_ITEMS"] = "10000"
		start := time.Now()
		got := load.run(t)
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("k6 waited for streams: %s", took)
		}
		if len(got.RequestsTotal) != 0 || got.items(t) == 0 || got.Streams.Cancelled != 3 || len(got.Errors) != 0 {
			t.Errorf("want nothing but three cancelled streams with items, got %+v", got)
		}
		if length := time.Duration(got.Window.End - got.Window.Start); length != 800*time.Millisecond {
			t.Errorf("want the whole window, got %s", length)
		}
	})
}

func TestReopenedStreamsHaveAConnectionEach(t *testing.T) {
	onStreams(t, ledgertest.Behaviour{Gap: time.Millisecond}, func(t *testing.T, server *ledgertest.Server, load k6Run) {
		load.variables["CONNECTION"] = "reopen"
		got := load.run(t)
		if streams := got.expectOnly(t, "ok"); server.Connections.Load() != streams+got.Streams.Cancelled {
			t.Errorf("want a connection for each of %d streams, got %d", streams, server.Connections.Load())
		}
	})
}

func TestAnOpenLoadOfStreamsHasResponseTimes(t *testing.T) {
	onStreams(t, ledgertest.Behaviour{Gap: time.Millisecond}, func(t *testing.T, _ *ledgertest.Server, load k6Run) {
		load.variables["RATE"] = "50"
		load.variables["CONCURRENCY"] = "20"
		got := load.run(t)
		got.expectOnly(t, "ok")
		if got.clock(t, "ok", "response").TotalCount() == 0 || got.clock(t, "ok", "first_item").TotalCount() == 0 {
			t.Errorf("unexpected %+v", got)
		}
	})
}

func TestCutStreamsFailAndLeaveTheTerminalAlone(t *testing.T) {
	onStreams(t, ledgertest.Behaviour{CutAfter: 5, Gap: time.Millisecond}, func(t *testing.T, _ *ledgertest.Server, load k6Run) {
		got := load.run(t)
		if failed := got.expectOnly(t, "unavailable"); failed == 0 || got.errorText() == "" {
			t.Errorf("unexpected %+v", got)
		}
	})
}
