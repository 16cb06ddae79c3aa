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
	user  *user
	wrong error
}

// NewProbe returns a probe of the first address of a load, which is used for nothing else.
func NewProbe(ctx context.Context, load *Load) *Probe {
	p := &Probe{}
	load.Connections, load.Duration = 0, math.MaxInt64/2
	load.CheckEvery, load.OnMismatch = 1, func(_ string, err error) { p.wrong = err }
	p.user = newUser(newRun(ctx, load), 0)
	return p
}

// Close closes the connection.
func (p *Probe) Close() { p.user.run.cancel(nil) }

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
	probed := &Probed{}
	end := time.Now().Add(u.run.load.Timeout)
	u.stream.onItem = func(item []byte) bool {
		if len(probed.Items) < probedItemsMax {
			probed.Items = append(probed.Items, bytes.Clone(item))
		}
		if u.request.Items > 0 {
			return u.stream.count <= u.request.Items
		}
		return u.stream.count < probedItemsMax && time.Now().Before(end)
	}
	u.source, p.wrong = source, nil
	reply, err := u.perform(0)
	if cause := context.Cause(u.run.ctx); cause != nil {
		return nil, cause
	}
	probed.Request, probed.Reply, probed.Wrong = u.request, reply, p.wrong
	probed.Failure, probed.IsUnreachable = transport.AsFailure(err), err != nil && u.isUnconnected
	return probed, nil
}
