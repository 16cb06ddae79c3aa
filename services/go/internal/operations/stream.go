package operations

import (
	"context"
	"time"

	"wirebench.dev/services/internal/domain"
)

const (
	// Timers are no finer than that: what is due in between goes out together.
	tick = time.Millisecond
	// A client that has not read for a while is not sent all that was due meanwhile, which would be over its limit: at
	// most what is due in so long a time. It loses nothing, but gets it later.
	catchUp = 100 * time.Millisecond
)

// That there is no more needs no words, and not all transports have room for them.
var (
	done      = Outcome{Code: domain.OK}
	cancelled = Refusal(domain.Errorf(domain.Cancelled, "The stream was cancelled."))
	stopped   = Refusal(domain.Errorf(domain.Unavailable, "The service is stopping."))
)

// Stream is transactions that are due one after the other.
type Stream struct {
	feed  *domain.TransactionFeed
	codec Codec
}

// Sink is where a stream's items go. To send may block as long as the client doesn't read: it then gets no further
// items, and none wait for it but in buffers of a fixed size.
type Sink interface {
	// Send takes an item, which may stay in a buffer.
	Send(id int32, item []byte) error
	// Flush hands over what the buffer holds; the stream pauses, or is over.
	Flush() error
}

// Run sends what is due until there is no more, the client leaves (the context ends, or sending fails) or the service
// stops, and returns which.
func (s *Stream) Run(ctx, stopping context.Context, sink Sink) Outcome {
	pace := newPace(s.feed.RateLimit)
	for item := s.feed.Next(); item != nil; item = s.feed.Next() {
		if wait := pace.take(time.Now()); wait > 0 {
			if sink.Flush() != nil || !sleep(ctx, stopping, wait) {
				return ended(stopping)
			}
		}
		if ctx.Err() != nil || stopping.Err() != nil {
			return ended(stopping)
		}
		body, err := s.codec.encode(StreamTransactions, item)
		if err != nil {
			return Refusal(refusalOf(StreamTransactions, err))
		}
		if sink.Send(item.ID, body) != nil {
			return ended(stopping)
		}
	}
	if sink.Flush() != nil {
		return cancelled
	}
	return done
}

func ended(stopping context.Context) Outcome {
	if stopping.Err() != nil {
		return stopped
	}
	return cancelled
}

// sleep returns whether nobody has ended it.
func sleep(ctx, stopping context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-stopping.Done():
	}
	return false
}

// pace is when items are due: the first at once, and so many a second.
type pace struct {
	interval time.Duration
	due      time.Time
}

func newPace(perSecond int32) *pace {
	p := &pace{due: time.Now()}
	if perSecond > 0 {
		p.interval = time.Second / time.Duration(perSecond)
	}
	return p
}

// take counts an item, and returns how long it isn't due.
func (p *pace) take(now time.Time) time.Duration {
	if p.interval == 0 {
		return 0
	}
	if late := now.Add(-catchUp); p.due.Before(late) {
		p.due = late
	}
	wait := p.due.Sub(now)
	p.due = p.due.Add(p.interval)
	if wait <= 0 {
		return 0
	}
	return max(wait, tick)
}
