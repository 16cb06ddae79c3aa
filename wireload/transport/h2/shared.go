package h2

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"time"

	"golang.org/x/net/http2"
)

// epoch is what deadlines count from.
var epoch = time.Now()

// shared is what a connection has besides when several users share it: a reader, a writer, and a timer for their calls.
type shared struct {
	dirty chan struct{}
	timer *time.Timer
	// soonest is when the timer rings.
	soonest int64
}

func (c *Connection) share() {
	c.peer.streamsMax = 0
	c.shared = &shared{dirty: make(chan struct{}, 1), soonest: math.MaxInt64}
	c.shared.notify(c)
	c.shared.timer = time.AfterFunc(math.MaxInt64, c.expire)
	go c.readShared()
	go c.writeShared()
}

// Close ends all calls.
func (c *Connection) Close() error { return c.socket.Close() }

// readShared takes frames until there are no more. All that a read has brought are taken at once.
func (c *Connection) readShared() {
	var err error
	for err == nil {
		var header http2.FrameHeader
		var payload []byte
		header, payload, err = c.frames.read()
		c.mutex.Lock()
		err = c.takeAll(nil, header, payload, err)
		c.settle()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	_ = c.socket.Close()
	c.shared.timer.Stop()
	close(c.shared.dirty)
}

// writeShared writes what there is, when there is something.
func (c *Connection) writeShared() {
	var out bytes.Buffer
	for range c.shared.dirty {
		runtime.Gosched() // Others are about to send as well: one write for all of them.
		c.mutex.Lock()
		c.out, out = out, c.out
		c.mutex.Unlock()
		if _, err := out.WriteTo(c.socket); err != nil {
			c.mutex.Lock()
			c.writeError = err
			c.mutex.Unlock()
		}
		out.Reset()
	}
}

// notify wakes the writer. The reader may have closed its channel when the connection has failed.
func (s *shared) notify(c *Connection) {
	if c.out.Len() == 0 || c.writeError != nil {
		return
	}
	select {
	case s.dirty <- struct{}{}:
	default:
	}
}

// watch has a call fail at its deadline.
func (s *shared) watch(deadline int64) {
	if deadline < s.soonest {
		s.soonest = deadline
		s.timer.Reset(time.Duration(deadline) - time.Since(epoch))
	}
}

// expire fails the calls whose time is over.
func (c *Connection) expire() {
	c.mutex.Lock()
	defer c.settle()
	now, soonest := int64(time.Since(epoch)), int64(math.MaxInt64)
	var late []*Stream
	look := func(s *Stream) {
		if at := s.deadline.Load(); at > now {
			soonest = min(soonest, at)
		} else {
			late = append(late, s)
		}
	}
	for _, each := range c.open {
		look(each)
	}
	for _, each := range c.queued {
		look(each)
	}
	c.shared.soonest = math.MaxInt64
	for _, each := range late {
		each.fail(os.ErrDeadlineExceeded)
		c.cancel(each, each.err)
	}
	if c.writeError == nil {
		c.shared.watch(soonest)
	}
}
