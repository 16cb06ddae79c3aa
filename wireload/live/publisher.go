package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	path  = "/api/v1/otlp/v1/metrics"
	every = time.Second
	// A Prometheus that takes longer misses a second; at the load's end it delays the exit by this much at most.
	timeout       = time.Second
	wordsBytesMax = 300
)

// client goes straight to Prometheus, as wirebench does: proxies of the environment are for the internet.
var client = &http.Client{Transport: &http.Transport{Proxy: nil}}

// Publisher pushes the metrics of a load to a Prometheus once a second.
type Publisher struct {
	url       string
	transport string
	labels    []object
	// missed are the pushes that failed, of so many; problem says why the last of them did.
	missed, pushes int
	problem        error
	// latest is the time of the last push.
	latest time.Time
}

// NewPublisher returns one that labels all series.
func NewPublisher(prometheus, transport string, labels map[string]string) (*Publisher, error) {
	address, err := url.Parse(prometheus)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("%q is not a URL like http://127.0.0.1:9090", prometheus)
	}
	p := &Publisher{url: strings.TrimSuffix(prometheus, "/") + path, transport: transport}
	p.labels = append(p.labels, label("driver", "wireload"))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		p.labels = append(p.labels, label(name, labels[name]))
	}
	return p, nil
}

// NewTotals returns those of a load that hasn't begun, which may have so many users.
func (p *Publisher) NewTotals(usersMax int) *Totals {
	return &Totals{transport: p.transport, durations: map[durationKey]*duration{}, UsersMax: int64(usersMax)}
}

// Publish pushes until the load is over, and then its end. `read` hands out the totals for a moment.
func (p *Publisher) Publish(over context.Context, read func(use func(*Totals))) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for isOver := false; !isOver; {
		select {
		case <-ticker.C:
		case <-over.Done():
			isOver = true
		}
		now := time.Now()
		if next := p.latest.Add(time.Millisecond); now.Before(next) {
			now = next // Prometheus rejects a second push of the same millisecond.
		}
		p.latest = now
		var metrics []metric
		read(func(t *Totals) { metrics = t.metrics(p.labels, now, isOver) })
		if isOver {
			over = context.WithoutCancel(over)
		}
		p.push(over, metrics)
	}
}

// Problem returns one line about what Prometheus didn't get, if there is any.
func (p *Publisher) Problem() error {
	if p.problem == nil {
		return nil
	}
	return fmt.Errorf("live metrics: %d of %d pushes failed, the last: %w", p.missed, p.pushes, p.problem)
}

func (p *Publisher) push(over context.Context, metrics []metric) {
	ctx, cancel := context.WithTimeout(over, timeout)
	defer cancel()
	err := p.post(ctx, metrics)
	if over.Err() != nil {
		return // The end of the load has cut it off; what it would have sent comes with the end.
	}
	p.pushes++
	if err != nil {
		p.missed++
		p.problem = err
	}
}

func (p *Publisher) post(ctx context.Context, metrics []metric) error {
	body, err := json.Marshal(object{"resourceMetrics": []object{{"scopeMetrics": []object{{"metrics": metrics}}}}})
	if err != nil {
		return err
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	asked.Header.Set("Content-Type", "application/json")
	reply, err := client.Do(asked)
	if err != nil {
		return err
	}
	defer func() { _ = reply.Body.Close() }()
	words, _ := io.ReadAll(io.LimitReader(reply.Body, wordsBytesMax))
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", p.url, reply.Status, bytes.TrimSpace(words))
	}
	return nil
}
