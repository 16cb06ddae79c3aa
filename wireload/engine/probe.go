package engine

import (
	"bytes"
	"context"
	"errors"
	"math"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// probedItemsMax is how many items of a stream a probe keeps. It stops there if the load doesn't set the stream's length.
const probedItemsMax = 1000

// Probe sends single requests, one after the other on one connection, to look at their replies. Nothing is measured.
type Probe struct {
	user *user
	// stopInterrupt unregisters the interrupt.
	stopInterrupt func() bool
}

// NewProbe returns a probe of the first address of a load.
func NewProbe(ctx context.Context, load *Load) *Probe {
	r := &run{ctx: ctx, load: load, clock: newClock()}
	u := &user{run: r, address: load.Addresses[0], client: load.NewClient(load.Addresses[0]), latest: math.MaxInt64, counts: &counts{}}
	return &Probe{u, context.AfterFunc(ctx, u.interrupt)}
}

// Close closes the connection.
func (p *Probe) Close() {
	p.stopInterrupt()
	p.user.close()
}

// Probed is a request and its outcome.
type Probed struct {
	Request request.Request
	Reply   transport.Reply
	// Items are the first ones of a stream.
	Items [][]byte
	// Failure is why there is no whole reply; IsUnreachable says that there was no connection.
	Failure       *transport.Failure
	IsUnreachable bool
	// Wrong is the error of the check, which only successful replies get.
	Wrong error
}

// Send sends the next request of a source. It fails if the request can't be made, or is interrupted.
func (p *Probe) Send(source request.Source) (*Probed, error) {
	u := p.user
	u.source = source
	source.Next(&u.request)
	u.dropClosed(u.run.clock.now())
	if err := u.client.Prepare(&u.request); err != nil {
		return nil, err
	}
	sent := u.run.clock.now()
	probed := &Probed{Request: u.request}
	var err error
	if u.request.Stream {
		err = p.readStream(probed, sent)
	} else {
		probed.Reply, err = u.send(sent, nil)
	}
	u.lastUsed = u.run.clock.now()
	if cause := context.Cause(u.run.ctx); cause != nil {
		return nil, cause
	}
	probed.Failure = transport.AsFailure(err)
	probed.IsUnreachable = probed.Failure != nil && u.connection == nil
	ok := probed.Failure == nil && probed.Reply.Code == histogram.OK
	if ok {
		probed.Wrong = u.check(probed.Reply)
	}
	source.Settle(ok)
	if err != nil || probed.Reply.Close || u.run.load.Reopen || u.socket.hasFailed() {
		u.close()
	}
	return probed, nil
}

// readStream reads a stream to its end, or to its last item that is kept.
func (p *Probe) readStream(probed *Probed, sent int64) error {
	u := p.user
	s := &stream{user: u}
	u.stream = s
	timeout := int64(u.run.load.Timeout)
	reply, err := u.send(sent, func(item []byte) bool {
		now := u.run.clock.now()
		s.count++
		if s.count == 1 {
			s.first = bytes.Clone(item)
		}
		s.last = append(s.last[:0], item...)
		if len(probed.Items) < probedItemsMax {
			probed.Items = append(probed.Items, bytes.Clone(item))
		}
		_ = u.connection.SetDeadline(u.run.clock.at(now + timeout))
		if u.request.Items > 0 {
			return s.count <= u.request.Items
		}
		return s.count < probedItemsMax && now < sent+timeout
	})
	if errors.Is(err, transport.ErrStopped) {
		reply, err = transport.Reply{Code: histogram.OK, Status: u.request.Status, Close: true}, nil
	}
	probed.Reply = reply
	return err
}
