package engine

import (
	"cmp"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
	"wirebench.dev/wireload/transport"
)

// Failures have the code Unavailable, except for these.
var codes = map[transport.Class]histogram.Code{
	transport.Timeout: histogram.DeadlineExceeded, transport.Garbage: histogram.Internal,
}

// update lends the fold out. One lock for all users is enough: it is held for some hundred nanoseconds a request, after
// the request's clock has stopped.
func (r *run) update(change func(*histogram.Fold)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change(r.fold)
}

// record records a request and how it ended.
func (r *run) record(operation string, took histogram.Request, reply transport.Reply, err error) {
	code, message := reply.Code, reply.Message
	failure := transport.AsFailure(err)
	if failure != nil {
		code, message = cmp.Or(codes[failure.Class], histogram.Unavailable), failure.Message
	}
	key := histogram.Key{Operation: operation, Code: code}
	if r.load.Live != nil {
		r.load.Live.Add(key, took.ServiceNS)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.Add(key, took)
	if code != histogram.OK {
		r.fold.AddReason(code, message)
	}
	if failure != nil {
		r.fold.File.ErrorClasses[string(failure.Class)]++
	}
}

// drop counts a request that was due and never sent.
func (r *run) drop() { r.update(func(f *histogram.Fold) { f.File.DroppedIterations++ }) }

// count returns what live metrics need besides the requests.
func (r *run) count() (counts live.Counts) {
	r.update(func(f *histogram.Fold) { counts.Dropped = f.File.DroppedIterations })
	counts.Users, counts.UsersMax = r.started.Load(), int64(r.load.UsersMax)
	counts.BytesSent, counts.BytesReceived = r.sent.Load(), r.received.Load()
	return counts
}
