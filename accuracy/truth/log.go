package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// Memory is touched as the log fills: 64 MiB if it ever does.
	requestsMax = 4 << 20
	// The layout of docs/histogram-file.md.
	latencyMinNS, latencyMaxNS, significantDigits = 1, 60_000_000_000, 3
)

// requestLog keeps when each request arrived and ended, so that windows can be told apart afterwards.
type requestLog struct {
	mutex     sync.Mutex
	requests  []request
	lost      int
	unstamped int
}

// request is in Unix ns.
type request struct{ arrived, ended int64 }

// truth is what is known about the requests that ended in a window.
type truth struct {
	Requests int `json:"requests"`
	// Of the whole load: those whose arrival is when they were read, and those that the log had no room for.
	Unstamped int    `json:"requests_without_kernel_timestamp"`
	Lost      int    `json:"requests_lost"`
	Histogram string `json:"histogram"`
}

func newRequestLog() *requestLog {
	return &requestLog{requests: make([]request, 0, requestsMax)}
}

func (l *requestLog) add(r request, isStamped bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !isStamped {
		l.unstamped++
	}
	if len(l.requests) == requestsMax {
		l.lost++
		return
	}
	l.requests = append(l.requests, r)
}

// truth returns what is known about the requests that ended from start to before end.
func (l *requestLog) truth(start, end int64) truth {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	latencies := hdrhistogram.New(latencyMinNS, latencyMaxNS, significantDigits)
	for _, r := range l.requests {
		if start <= r.ended && r.ended < end {
			// In range, it is always taken.
			_ = latencies.RecordValue(min(max(r.ended-r.arrived, latencyMinNS), latencyMaxNS))
		}
	}
	// Fails for encodings that the library doesn't know.
	encoded, _ := latencies.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return truth{
		Requests: int(latencies.TotalCount()), Unstamped: l.unstamped, Lost: l.lost,
		Histogram: string(encoded),
	}
}

// answer tells the truth to clients of the admin address, one after the other.
func (l *requestLog) answer(listener net.Listener) error {
	for {
		client, err := listener.Accept()
		if err != nil {
			return err
		}
		for lines := bufio.NewScanner(client); lines.Scan(); {
			var start, end int64
			if _, err := fmt.Sscanf(lines.Text(), "%d %d", &start, &end); err != nil {
				fmt.Fprintf(client, "%q isn't START END in Unix ns\n", lines.Text())
			} else if json.NewEncoder(client).Encode(l.truth(start, end)) != nil {
				break
			}
		}
		_ = client.Close()
	}
}
