package engine

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
	"wirebench.dev/wireload/transport"
)

// recorder is what all users of a load record in. One lock is enough: it is held for some hundred nanoseconds a
// request, after the request's clock has stopped.
type recorder struct {
	mutex sync.Mutex
	fold  *histogram.Fold
	// live is nil if no live metrics are published.
	live    *live.Publisher
	timeout time.Duration
	// sent and received are bytes of all connections.
	sent, received atomic.Int64
}

func newRecorder(load *Load) *recorder {
	return &recorder{fold: histogram.NewFold(load.Measured), live: load.Live, timeout: load.Timeout}
}

// update lends the fold out.
func (r *recorder) update(change func(*histogram.Fold)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change(r.fold)
}

// add records a request and how it ended.
func (r *recorder) add(operation string, took histogram.Request, reply transport.Reply, err error) {
	code, message := reply.Code, reply.Message
	failure := transport.AsFailure(err)
	if failure != nil {
		code, message = r.outcome(failure)
	}
	if r.live != nil {
		r.live.Add(operation, code, took.ServiceNS)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.Add(operation, code, took)
	if code != histogram.OK {
		r.fold.AddReason(code, message)
	}
	if failure != nil {
		r.fold.File.ErrorClasses[string(failure.Class)]++
	}
}

func (r *recorder) outcome(failure *transport.Failure) (histogram.Code, string) {
	switch failure.Class {
	case transport.Timeout:
		return histogram.DeadlineExceeded, strings.Replace(failure.Message, "in time", "within "+r.timeout.String(), 1)
	case transport.Garbage:
		return histogram.Internal, failure.Message
	}
	return histogram.Unavailable, failure.Message
}

// addMismatch returns how many replies with wrong content there were.
func (r *recorder) addMismatch() (count int64) {
	r.update(func(f *histogram.Fold) {
		f.File.Mismatches++
		count = f.File.Mismatches
	})
	return count
}

// drop counts a request that was due and never sent.
func (r *recorder) drop() { r.update(func(f *histogram.Fold) { f.File.DroppedIterations++ }) }

func (r *recorder) report(version string, endedUnixNS int64) (made histogram.File) {
	r.update(func(f *histogram.Fold) {
		f.File.BytesSent, f.File.BytesReceived = r.sent.Load(), r.received.Load()
		made = f.Report(histogram.Driver{Name: "wireload", Version: version}, endedUnixNS)
	})
	return made
}
