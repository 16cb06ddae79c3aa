package stream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.k6.io/k6/metrics"
	"google.golang.org/protobuf/encoding/protowire"
	"wirebench.dev/k6/ledgertest"
	"wirebench.dev/k6/sample"
	"wirebench.dev/k6/vutest"
)

type vu struct {
	*vutest.User
	t *testing.T
	// request asks for a stream of so many items.
	request func(items int) string
}

func newVU(t *testing.T) *vu {
	t.Helper()
	return &vu{User: vutest.New(t, "stream", New(), ""), t: t}
}

// client makes the script's `client` one of this transport, with further settings.
func (v *vu) client(transport, address, more string) {
	v.t.Helper()
	v.Run(fmt.Sprintf("var client = new stream.Client({ transport: %q, address: %q, %s })", transport, address, more))
	v.request = func(items int) string {
		message := fmt.Sprintf("new Uint8Array(%s).buffer", asJSON(protowire.AppendVarint([]byte{3 << 3}, uint64(items))))
		switch {
		case transport == "rest":
			return fmt.Sprintf("target: '/transactions/stream?limit=%d', end: 'end'", items)
		case transport == "grpc":
			return "target: 'wirebench.v1.LedgerService/StreamTransactions', body: " + message
		case strings.Contains(more, "protobuf"):
			return "target: 'ledger.stream_transactions', body: " + message
		default:
			return fmt.Sprintf(`target: 'ledger.stream_transactions', body: '{"limit":%d}'`, items)
		}
	}
}

// asJSON returns bytes as a list of numbers.
func asJSON(content []byte) string {
	return strings.ReplaceAll(fmt.Sprint(content), " ", ",")
}

// read has the client read a stream of so many items.
func (v *vu) read(items int, more string) *Result {
	v.t.Helper()
	script := fmt.Sprintf("client.read({ name: 'stream', items: %d, %s, %s })", items, v.request(items), more)
	result, ok := v.Run(script).Export().(*Result)
	if !ok {
		v.t.Fatal("no result")
	}
	return result
}

// measured is what one or several streams came to in samples.
type measured struct {
	requests []metrics.Sample
	over     int
	// The times to first items, and the gaps before the others.
	first, gaps []time.Duration
}

func (v *vu) measured() measured {
	var seen measured
	for len(v.Samples) > 0 {
		container := <-v.Samples
		items, ok := container.(*sample.Items)
		if !ok {
			taken := container.GetSamples()[0]
			if taken.Metric.Name == sample.CancelledStreamsMetric {
				seen.over++
			} else {
				seen.requests = append(seen.requests, taken)
			}
			continue
		}
		previous := items.PreviousUnixNS
		for _, arrival := range items.ArrivalsUnixNS {
			if previous == 0 {
				seen.first = append(seen.first, time.Duration(arrival-items.SentUnixNS))
			} else {
				seen.gaps = append(seen.gaps, time.Duration(arrival-previous))
			}
			previous = arrival
		}
	}
	return seen
}

// onAllTransports runs a test against a server on each of them, and on the socket with both codecs.
func onAllTransports(t *testing.T, behaves ledgertest.Behaviour, test func(*testing.T, *vu, *ledgertest.Server)) {
	t.Helper()
	timeoutMs := 20_000 // far more than a busy machine needs
	if behaves.StallAfter > 0 {
		timeoutMs = 1000
	}
	for _, transport := range ledgertest.Transports {
		codecs := []string{"json"}
		if transport == "socket" {
			codecs = append(codecs, "protobuf")
		}
		for _, codec := range codecs {
			t.Run(transport+"-"+codec, func(t *testing.T) {
				t.Parallel()
				server, vu := ledgertest.Start(t, transport, behaves), newVU(t)
				vu.client(transport, server.Address, fmt.Sprintf("codec: %q, timeout: %d", codec, timeoutMs))
				test(t, vu, server)
			})
		}
	}
}
