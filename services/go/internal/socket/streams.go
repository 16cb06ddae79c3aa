package socket

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/pb"
)

// Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
const streamsMax = 100

// openStream starts a stream, or replies why not.
func (c *connection) openStream(r request) error {
	begun := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	batches, err := c.transactions(ctx, r)
	if err != nil {
		cancel()
		c.server.requests.Observe(streamMethod, err, begun, len(r.body), 0)
		c.unflushed = true
		return c.write(r.id, 0, "", nil, err)
	}
	var sent atomic.Int64
	// A stream that is cancelled is counted at once, though it may still wait for its client to read.
	var counting sync.Once
	count := func(err error) {
		counting.Do(func() { c.server.requests.Observe(streamMethod, err, begun, len(r.body), int(sent.Load())) })
	}
	c.mu.Lock()
	c.streams[r.id] = func() {
		cancel()
		count(application.ErrCancelled)
	}
	c.mu.Unlock()
	c.running.Go(func() {
		defer cancel()
		err := c.sendBatches(r.id, batches, &sent)
		count(err)
		c.closeStream(r.id)
		_ = c.write(r.id, 0, "", nil, err)
		_ = c.flush() // to a client that may have left
	})
	return nil
}

func (c *connection) transactions(ctx context.Context, r request) (iter.Seq2[[]*pb.Transaction, error], error) {
	c.mu.Lock()
	open := len(c.streams)
	c.mu.Unlock()
	if open >= streamsMax {
		return nil, application.Error(codes.ResourceExhausted, "%d streams are open on this connection.", streamsMax)
	}
	request := &pb.StreamTransactionsRequest{}
	if err := c.with.decode(r.body, request); err != nil {
		return nil, err
	}
	return c.server.app.Ledger.Transactions(ctx, request)
}

func (c *connection) sendBatches(id uint32, batches iter.Seq2[[]*pb.Transaction, error], sent *atomic.Int64) error {
	for batch, err := range batches {
		if err != nil {
			return err
		}
		for _, transaction := range batch {
			body, err := c.with.encode(&pb.StreamTransactionsResponse{Data: transaction})
			if err != nil {
				return err
			}
			sent.Add(int64(len(body)))
			if c.write(id, flagMore, "", body, nil) != nil {
				return application.ErrCancelled
			}
		}
		if c.flush() != nil {
			return application.ErrCancelled
		}
	}
	return nil
}

// closeStream forgets a stream before its end is sent: a client that has read it may use the id again.
func (c *connection) closeStream(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.streams, id)
	if len(c.streams) == 0 && c.resting && !c.stopping {
		_ = c.SetReadDeadline(time.Now().Add(c.server.config.IdleTimeout))
	}
}

func (c *connection) isOpen(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.streams[id]
	return ok
}

// cancel ends a stream, if it is open.
func (c *connection) cancel(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.streams[id]; ok {
		cancel()
	}
}

func (c *connection) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.streams {
		cancel()
	}
}
