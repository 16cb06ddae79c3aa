//go:build !race

package engine

import (
	"maps"
	"testing"
	"time"

	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport/transporttest"
)

// TestNothingIsAllocatedForARequest counts the allocations of server and client together. The race detector allocates.
func TestNothingIsAllocatedForARequest(t *testing.T) {
	header := request.Header{Name: "X-A", Key: "x-a", Value: []byte("1")}
	measured := maps.Clone(protocols)
	for _, name := range []string{"rest", "h2c", "grpc"} {
		p := protocols[name]
		p.request.Headers, p.request.Varying = []request.Header{header}, []request.Header{header}
		measured[name+" with headers"] = p
	}
	for _, name := range []string{"h2c", "grpc"} {
		p := protocols[name]
		p.connections = 1
		measured[name+" that is shared"] = p
	}
	for name, p := range measured {
		t.Run(name, func(t *testing.T) {
			replies := make([][]byte, 3000)
			for n := range replies {
				replies[n] = p.reply(n)
			}
			p.reply = func(n int) []byte { return replies[n] }
			load := p.load(transporttest.Serve(t, p.answering(0)), time.Minute)
			load.Connections = p.connections
			r := newRun(t.Context(), load)
			r.begin()
			u := newUser(r, 0)
			u.source = load.NewSource(0)
			perform := func() {
				u.lastUsed = 0 // As in a slow load, where connections are looked at.
				u.perform(r.now())
			}
			for range 100 {
				perform()
			}
			if allocations := testing.AllocsPerRun(1000, perform); allocations >= 1 {
				t.Errorf("want none, got %v a request", allocations)
			}
			u.close()
		})
	}
}
