package socket

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/platform"
)

// Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
const streamsMax = 100

// streams are those of one connection, each in a goroutine of its own.
type streams struct {
	worker  *platform.Worker
	replies *replies
	// Called when one is over.
	ended   func()
	running sync.WaitGroup

	mu   sync.Mutex
	open map[uint32]*openStream
}

func newStreams(worker *platform.Worker, replies *replies, ended func()) *streams {
	return &streams{worker: worker, replies: replies, ended: ended, open: make(map[uint32]*openStream)}
}

// count returns how many are open.
func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *streams) find(id uint32) *openStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// begin opens the stream that a request asks for, or returns why not.
func (s *streams) begin(codec operations.Codec, r request) *domain.Error {
	begun := s.worker.Recorder.Started()
	var opened *operations.Stream
	var refused *domain.Error
	if s.count() >= streamsMax {
		refused = domain.Errorf(domain.ResourceExhausted, "%d streams are open on this connection.", streamsMax)
	} else {
		opened, refused = operations.OpenTransactions(s.worker.Application, codec, codec, r.body)
	}
	if refused != nil {
		s.worker.Recorder.Finished(operations.StreamTransactions.Name, refused.Code, begun, len(r.body), 0)
		return refused
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream := &openStream{
		id: r.id, replies: s.replies, recorder: s.worker.Recorder, begun: begun, requestBytes: len(r.body), end: cancel,
	}
	s.mu.Lock()
	s.open[r.id] = stream
	s.mu.Unlock()
	s.running.Go(func() {
		defer cancel()
		outcome := opened.Run(ctx, s.worker.Stopping, stream)
		stream.count(outcome.Code)
		// Before its end is said: who has read that may use the id again.
		s.forget(r.id)
		stream.sayEnd(outcome)
		s.ended()
	})
	return nil
}

// cancel ends a stream that its client wants no more of, if there is such a stream. It doesn't wait for the client to
// read what is on its way.
func (s *streams) cancel(id uint32) {
	if stream := s.find(id); stream != nil {
		stream.cancel()
	}
}

// leave ends all streams without a word, because there is nobody to hear it.
func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 {
		s.replies.hurry()
	}
	for _, stream := range s.open {
		stream.silent.Store(true)
		stream.cancel()
	}
}

// wait returns when all are over.
func (s *streams) wait() { s.running.Wait() }

func (s *streams) forget(id uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// openStream sends items as frames. It is counted once, as soon as it is known how it ends.
type openStream struct {
	id           uint32
	replies      *replies
	recorder     *platform.Recorder
	begun        time.Time
	requestBytes int
	end          context.CancelFunc

	sentBytes atomic.Int64
	silent    atomic.Bool
	counted   sync.Once
}

// Send takes an item, which may stay in the buffer.
func (o *openStream) Send(_ int32, item []byte) error {
	o.sentBytes.Add(int64(len(item)))
	return o.replies.frame(reply{id: o.id, flags: more, body: item})
}

// Flush hands over what the buffer holds.
func (o *openStream) Flush() error { return o.replies.flush() }

func (o *openStream) cancel() {
	o.end()
	o.count(domain.Cancelled)
}

// sayEnd sends the end mark, unless there is nobody to read it.
func (o *openStream) sayEnd(outcome operations.Outcome) {
	if o.silent.Load() {
		return
	}
	// A connection that has failed is closed by who reads it.
	if o.replies.frame(reply{id: o.id, code: outcome.Code, message: outcome.Message}) == nil {
		_ = o.replies.flush()
	}
}

func (o *openStream) count(code domain.Code) {
	o.counted.Do(func() {
		sent := int(o.sentBytes.Load())
		o.recorder.Finished(operations.StreamTransactions.Name, code, o.begun, o.requestBytes, sent)
	})
}
