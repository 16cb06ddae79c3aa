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
}

// readStream reads a stream to its end, and records when each item came.
func (u *user) readStream(sent, due int64) (transport.Reply, error) {
	if u.stream == nil {
		u.stream = &stream{user: u}
	}
	s := u.stream
	s.items = histogram.Items{SentUnixNS: sent, DueUnixNS: due, ArrivalsUnixNS: s.items.ArrivalsUnixNS[:0]}
	s.count, s.first, s.last = 0, s.first[:0], s.last[:0]
	s.until, s.renewed = u.run.endUnixNS()+int64(overtime), sent
	s.keep = u.run.load.CheckEvery > 0 && (u.calls+1)%u.run.load.CheckEvery == 0
	u.latest = s.until
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
	s.renew(now)
	return now < s.until
}

// renew puts the deadline off; a hundredth of the timeout is exact enough.
func (s *stream) renew(now int64) {
	timeout := int64(s.user.run.load.Timeout)
	if now-s.renewed < timeout/100 {
		return
	}
	s.renewed = now
	deadline := min(now+timeout, s.until)
	_ = s.user.connection.SetDeadline(s.user.run.clock.at(deadline))
}

func (s *stream) flush() {
	arrivals := s.items.ArrivalsUnixNS
	if len(arrivals) == 0 {
		return
	}
	s.user.run.recorder.addItems(s.user.request.Operation, &s.items)
	s.items.PreviousUnixNS = arrivals[len(arrivals)-1]
	s.items.ArrivalsUnixNS = arrivals[:0]
}
