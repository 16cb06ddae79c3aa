package engine

import (
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

const (
	// Items are handed on so many at a time, and a slow stream's so often at least.
	batchItemsMax = 512
	batchLasts    = 50 * time.Millisecond
	// Streams that are under way when the load is over would keep it from ending: so much later they are cancelled.
	overtime = 20 * time.Millisecond
)

// stream is what is known of a stream that is being read.
type stream struct {
	user  *user
	items histogram.Items
	// until is when the stream is cancelled; renewed is when its deadline was last put off.
	until, renewed int64
	count          int
	first, last    []byte
	keep           bool
	// onItem, if it isn't nil, gets each item, and returns false to stop.
	onItem func([]byte) bool
}

// readStream reads a stream to its end, but not longer than until a moment, and records when each item came.
func (u *user) readStream(sent, due, until int64) (transport.Reply, error) {
	s := &u.stream
	s.user, s.until, s.renewed = u, until, sent
	s.items = histogram.Items{SentUnixNS: sent, DueUnixNS: due, ArrivalsUnixNS: s.items.ArrivalsUnixNS[:0]}
	s.count, s.first, s.last = 0, s.first[:0], s.last[:0]
	s.keep = s.onItem != nil || u.isNth()
	reply, err := u.send(sent, s.take)
	s.flush()
	if failure := transport.AsFailure(err); failure != nil && failure.Class == transport.Timeout && u.run.clock.now() >= s.until {
		return reply, transport.ErrStopped
	}
	return reply, err
}

// take notes that an item has come whole.
func (s *stream) take(item []byte) bool {
	now := s.user.run.clock.now()
	s.count++
	if s.keep {
		if s.count == 1 {
			s.first = append(s.first, item...)
		}
		s.last = append(s.last[:0], item...)
	}
	s.items.ArrivalsUnixNS = append(s.items.ArrivalsUnixNS, now)
	if len(s.items.ArrivalsUnixNS) == batchItemsMax || now-s.items.ArrivalsUnixNS[0] >= int64(batchLasts) {
		s.flush()
	}
	// The deadline is put off; a hundredth of the timeout is exact enough.
	if timeout := int64(s.user.run.load.Timeout); now-s.renewed >= timeout/100 {
		s.renewed = now
		_ = s.user.connection.SetDeadline(s.user.run.clock.at(min(now+timeout, s.until)))
	}
	return now < s.until && (s.onItem == nil || s.onItem(item))
}

func (s *stream) flush() {
	arrivals := s.items.ArrivalsUnixNS
	if len(arrivals) == 0 {
		return
	}
	s.user.run.recorder.update(func(f *histogram.Fold) { f.AddItems(s.user.request.Operation, &s.items) })
	s.items.PreviousUnixNS = arrivals[len(arrivals)-1]
	s.items.ArrivalsUnixNS = arrivals[:0]
}
