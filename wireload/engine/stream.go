package engine

import (
	"cmp"
	"errors"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

const (
	// Items are handed on so many at a time.
	batchItemsMax = 512
	// Streams that are under way when the load is over would keep it from ending: so much later they are cancelled.
	overtime = 20 * time.Millisecond
)

// stream is what is known of a stream that is being read.
type stream struct {
	// arrivals are those of items that weren't handed on yet; previous is that of the one before them. The stream was asked
	// for when it was due, or else sent.
	arrivals        []int64
	asked, previous int64
	// until is when the stream is cancelled; renewed is when its deadline was last put off.
	until, renewed int64
	count          int
	first, last    []byte
	// onItem, if it isn't nil, gets each item, and returns false if the stream is read far enough.
	onItem func([]byte) bool
}

// readStream reads a stream to its end, or that of the load, and records when each item came.
func (u *user) readStream(sent, due int64) (transport.Reply, error) {
	s := &u.stream
	s.until, s.renewed = u.run.endUnixNS()+int64(overtime), sent
	s.asked, s.previous, s.arrivals = cmp.Or(due, sent), 0, s.arrivals[:0]
	s.count, s.first, s.last = 0, s.first[:0], s.last[:0]
	reply, err := u.send(sent, u.takeItem)
	u.flushItems()
	if s.onItem != nil && errors.Is(err, transport.ErrStopped) {
		return transport.Reply{Code: histogram.OK, Status: u.request.Status, Close: true}, nil
	}
	if failure := transport.AsFailure(err); failure != nil && failure.Class == transport.Timeout && u.run.now() >= s.until {
		return reply, transport.ErrStopped
	}
	return reply, err
}

// takeItem notes that an item has come whole.
func (u *user) takeItem(item []byte) bool {
	s, now := &u.stream, u.run.now()
	s.count++
	if u.isChecked {
		if s.count == 1 {
			s.first = append(s.first, item...)
		}
		s.last = append(s.last[:0], item...)
	}
	s.arrivals = append(s.arrivals, now)
	if len(s.arrivals) == batchItemsMax {
		u.flushItems()
	}
	// The deadline is put off; a hundredth of the timeout is exact enough.
	if timeout := int64(u.run.load.Timeout); now-s.renewed >= timeout/100 {
		s.renewed = now
		_ = u.connection.SetDeadline(u.run.at(min(now+timeout, s.until)))
	}
	return now < s.until && (s.onItem == nil || s.onItem(item))
}

func (u *user) flushItems() {
	if s := &u.stream; len(s.arrivals) > 0 {
		u.run.update(func(f *histogram.Fold) { f.AddItems(u.request.Operation, s.asked, s.previous, s.arrivals) })
		s.previous, s.arrivals = s.arrivals[len(s.arrivals)-1], s.arrivals[:0]
	}
}
