package engine

import (
	"bytes"
	"context"
	"math"
	"time"

	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// probedItemsMax is how many items of a stream a probe keeps. It stops there if the load doesn't set the stream's length.
const probedItemsMax = 1000

// Probe sends single requests, one after the other on one connection, to look at their replies.
type Probe struct {
	user *user
	// Request and Reply are the last ones.
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

// NewProbe returns a probe of the first address of a load, which is used for nothing else.
func NewProbe(ctx context.Context, load *Load) *Probe {
	p := &Probe{}
	load.Connections, load.Duration = 0, math.MaxInt64/2
	load.CheckEvery, load.OnMismatch = 1, func(_ string, err error) { p.Wrong = err }
	p.user = newUser(newRun(ctx, load), 0)
	return p
}

// Close closes the connection.
func (p *Probe) Close() { p.user.run.cancel(nil) }

// Send sends the next request of a source. It fails if the request can't be made, or is interrupted.
func (p *Probe) Send(source request.Source) (err error) {
	u, end := p.user, time.Now().Add(p.user.run.load.Timeout)
	u.stream.onItem = func(item []byte) bool {
		if len(p.Items) < probedItemsMax {
			p.Items = append(p.Items, bytes.Clone(item))
		}
		if u.request.Items > 0 {
			return u.stream.count <= u.request.Items
		}
		return u.stream.count < probedItemsMax && time.Now().Before(end)
	}
	u.source, p.Items, p.Wrong = source, nil, nil
	p.Reply, err = u.perform(0)
	p.Request, p.Failure, p.IsUnreachable = u.request, transport.AsFailure(err), err != nil && u.isUnconnected
	return context.Cause(u.run.ctx)
}
