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
type Probe struct{ user *user }

// NewProbe returns a probe of the first address of a load.
func NewProbe(ctx context.Context, load *Load) *Probe {
	r := newRun(ctx, load)
	r.slots = nil
	u := newUser(r, 0)
	context.AfterFunc(r.ctx, u.interrupt)
	return &Probe{u}
}

// Close closes the connection.
func (p *Probe) Close() {
	p.user.close()
	p.user.run.cancel(nil)
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
	sent, err := u.prepare()
	if err != nil {
		return nil, err
	}
	probed := &Probed{Request: u.request}
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
	probed.IsUnreachable = err != nil && u.isUnconnected
	if err == nil && probed.Reply.Code == histogram.OK {
		probed.Wrong = u.check(probed.Reply)
	}
	u.settle(probed.Reply, err)
	return probed, nil
}

// readStream reads a stream to its end, or to its last item that is kept.
func (p *Probe) readStream(probed *Probed, sent int64) (err error) {
	u := p.user
	u.stream.onItem = func(item []byte) bool {
		if len(probed.Items) < probedItemsMax {
			probed.Items = append(probed.Items, bytes.Clone(item))
		}
		if u.request.Items > 0 {
			return u.stream.count <= u.request.Items
		}
		return u.stream.count < probedItemsMax && u.run.clock.now() < sent+int64(u.run.load.Timeout)
	}
	probed.Reply, err = u.readStream(sent, 0, math.MaxInt64)
	if errors.Is(err, transport.ErrStopped) {
		probed.Reply, err = transport.Reply{Code: histogram.OK, Status: u.request.Status, Close: true}, nil
	}
	return err
}
