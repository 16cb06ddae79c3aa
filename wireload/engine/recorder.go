package engine

import (
	"strings"
	"sync"
	"time"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
	"wirebench.dev/wireload/transport"
)

// recorder is what all users of a load record in. One lock is enough: it is held for some hundred nanoseconds a
// request, after the request's clock has stopped.
type recorder struct {
	mutex  sync.Mutex
	fold   *histogram.Fold
	counts histogram.Counts
	// totals is nil if no live metrics are published.
	totals *live.Totals
}

func newRecorder(measured histogram.Options) *recorder {
	return &recorder{
		fold:   histogram.NewFold(measured),
		counts: histogram.Counts{Classes: map[string]int64{}},
	}
}

// open lets the window begin after its warm-up, which begins now.
func (r *recorder) open(at int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.Open(at)
}

// add records a user's request and how it ended.
func (r *recorder) add(u *user, took histogram.Request, reply transport.Reply, err error) {
	code, message := reply.Code, reply.Message
	failure := transport.AsFailure(err)
	if failure != nil {
		code, message = outcome(failure, u.run.load.Timeout)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.Add(r.fold.Series(u.request.Operation, code), took)
	if r.totals != nil {
		r.collect(u.counts)
		r.totals.Add(live.Request{
			Operation: u.request.Operation, Code: code, HTTPStatus: reply.Status, Stream: u.request.Stream, TookNS: took.ServiceNS,
		})
	}
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
		return histogram.DeadlineExceeded, strings.Replace(failure.Message, "in time", "within "+timeout.String(), 1)
	case transport.Garbage:
		return histogram.Internal, failure.Message
	}
	return histogram.Unavailable, failure.Message
}

func (r *recorder) addItems(operation string, items *histogram.Items) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.AddItems(operation, items)
	if r.totals != nil {
		r.totals.Items += int64(len(items.ArrivalsUnixNS))
	}
}

func (r *recorder) addCancelled(operation string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fold.AddCancelled(operation, 1)
}

// addCounts adds what a user has counted since its last request.
func (r *recorder) addCounts(own *counts) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.collect(own)
}

// collect moves what a user has counted by itself.
func (r *recorder) collect(own *counts) {
	r.counts.Retried += own.retried.Swap(0)
	r.counts.Mismatches += own.mismatches.Swap(0)
	r.counts.Bytes.Sent += own.sent.Swap(0)
	r.counts.Bytes.Received += own.received.Swap(0)
}

// read hands the totals out.
func (r *recorder) read(use func(*live.Totals)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.totals.Dropped = r.counts.DroppedIterations
	r.totals.BytesSent, r.totals.BytesReceived = r.counts.Bytes.Sent, r.counts.Bytes.Received
	use(r.totals)
}

// join counts a user.
func (r *recorder) join() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.totals != nil {
		r.totals.Users++
	}
}

// drop counts requests that were due and never sent.
func (r *recorder) drop(requests int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.counts.DroppedIterations += requests
}

func (r *recorder) report(driver histogram.Driver, endedUnixNS int64) (histogram.File, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.fold.Report(driver, time.Unix(0, endedUnixNS), r.counts)
}
