package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"fortio.org/fortio/periodic"
)

// call is one call as fortio reports it. Its outcome is an HTTP status (-1: no reply), or for gRPC "SERVING" or the
// error's text.
type call struct {
	start   time.Time
	latency time.Duration
	outcome string
}

// calls is a periodic.AccessLogger that keeps every call in memory, by connection, so that none waits for another.
type calls [][]call

func newCalls(connections int) calls { return make(calls, connections) }

func (kept calls) Start(ctx context.Context, _ periodic.ThreadID, _ int64, _ time.Time) context.Context {
	return ctx
}

func (kept calls) Report(
	_ context.Context, thread periodic.ThreadID, _ int64, start time.Time, latencyS float64, _ bool, outcome string,
) {
	latency := time.Duration(latencyS * float64(time.Second))
	kept[thread] = append(kept[thread], call{start, latency, outcome})
}

func (kept calls) Info() string { return "kept in memory" }

// columns is what a file holds: of each call its end in nanoseconds since 1970, its latency in nanoseconds, and the
// place of its outcome in Outcomes.
type columns struct {
	EndsNS      []int64  `json:"ends_unix_ns"`
	LatenciesNS []int64  `json:"latencies_ns"`
	Places      []int    `json:"outcome"`
	Outcomes    []string `json:"outcomes"`
}

func (kept calls) columns() columns {
	var all columns
	places := map[string]int{}
	for _, thread := range kept {
		for _, each := range thread {
			place, known := places[each.outcome]
			if !known {
				place = len(all.Outcomes)
				places[each.outcome] = place
				all.Outcomes = append(all.Outcomes, each.outcome)
			}
			all.EndsNS = append(all.EndsNS, each.start.UnixNano()+each.latency.Nanoseconds())
			all.LatenciesNS = append(all.LatenciesNS, each.latency.Nanoseconds())
			all.Places = append(all.Places, place)
		}
	}
	return all
}

func (kept calls) write(path string) error {
	text, err := json.Marshal(kept.columns())
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
