package engine

import (
	"sync"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

// recorder is what all users of a load record in. One lock is enough: it is held for some hundred nanoseconds a
// request, after the request's clock has stopped.
type recorder struct {
	mutex   sync.Mutex
	fold    *histogram.Fold
	sampler histogram.Sampler
	counts  histogram.Counts
}

func newRecorder(measured histogram.Options) *recorder {
	return &recorder{
		fold:   histogram.NewFold(measured),
		counts: histogram.Counts{Classes: map[string]int64{}, Bytes: &histogram.Bytes{}},
	}
}

// open lets the window begin after its warm-up, which begins now.
func (r *recorder) open(at int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.Open(at)
}

// add records a request and how it ended.
func (r *recorder) add(operation string, took histogram.Request, reply transport.Reply, err error, timeout time.Duration) {
	code, message := reply.Code, reply.Message
	failure := transport.AsFailure(err)
	if failure != nil {
		code, message = outcome(failure, timeout)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.Add(r.fold.Series(operation, code), took)
	if code == histogram.OK {
		return
	}
	r.fold.AddReason(code, message)
	if failure != nil {
		r.counts.Classes[string(failure.Class)]++
	}
}

func outcome(failure *transport.Failure, timeout time.Duration) (histogram.Code, string) {
	switch failure.Class {
	case transport.Timeout:
		return histogram.DeadlineExceeded, "no reply within " + timeout.String()
	case transport.Garbage:
		return histogram.Internal, failure.Message
	}
	return histogram.Unavailable, failure.Message
}

func (r *recorder) addItems(operation string, items *histogram.Items) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.AddItems(operation, items)
}

func (r *recorder) addCancelled(operation string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.AddCancelled(operation, 1)
}

// addCounts adds what a user has counted by itself.
func (r *recorder) addCounts(user userCounts) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.counts.Retried += user.retried
	r.counts.Mismatches += user.mismatches
	r.counts.Bytes.Sent += user.sent
	r.counts.Bytes.Received += user.received
}

// snapshot returns what the last full second came to, if it wasn't asked for yet.
func (r *recorder) snapshot(now time.Time) (histogram.Snapshot, bool) {
	r.mutex.Lock()
	taken := r.sampler.Take(r.fold, now)
	r.mutex.Unlock()
	if taken == nil {
		return histogram.Snapshot{}, false
	}
	return r.sampler.Summarize(taken), true
}

func (r *recorder) report(driver histogram.Driver, dropped int64) (histogram.File, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.counts.DroppedIterations = dropped
	return r.fold.Report(driver, time.Now(), r.counts)
}
