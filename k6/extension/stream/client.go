package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
)

// Why a stream was cancelled from our side.
var (
	errStalled  = errors.New("stalled")
	errLoadOver = errors.New("the load is over")
)

// wire is a transport's way to a stream. It keeps its connection for the next one.
type wire interface {
	// read opens a stream and hands over the bytes of each item, which are valid until the next. It
	// returns when the stream has ended or the context is done, and how it ended.
	read(ctx context.Context, state *lib.State, ask request, item func([]byte)) outcome
	close()
}

func newWire(given settings) wire {
	switch given.transport {
	case "rest":
		return newREST(given)
	case "grpc":
		return &grpcWire{address: given.address, tls: given.tls}
	default:
		return newSocket(given)
	}
}

// Client is the object that scripts work with: one stream at a time, over one connection.
type Client struct {
	instance *instance
	settings settings
	wire     wire
}

// Result is what a script gets for a stream.
type Result struct {
	// Status is a gRPC status code on every transport, 0 for a stream that came to its end.
	Status int `js:"status"`
	// Message says why it didn't.
	Message string `js:"message"`
	// Items is how many there were.
	Items int64 `js:"items"`
	// Cancelled is whether it was cancelled because the load was over; it counts neither as success nor as failure.
	Cancelled bool `js:"cancelled"`
	// First and Last are items of a stream that is to be checked: JSON as text, or a message as an ArrayBuffer.
	First any `js:"first"`
	Last  any `js:"last"`
}

// Read reads one stream to its end. What goes wrong on the wire is a status and counts as a failed
// request; what is wrong with the script throws.
func (c *Client) Read(params sobek.Value) (*Result, error) {
	vu := c.instance.vu
	state := vu.State()
	if state == nil {
		return nil, common.NewInitContextError("streams are read in VU code only, not in the init context")
	}
	asked, err := parseTask(vu.Runtime(), params)
	if err != nil {
		return nil, err
	}
	tags := state.Tags.GetCurrentValues()
	tags.SetTag(sample.NameTag, asked.name)

	ctx, cancel := context.WithCancelCause(vu.Context())
	defer cancel(nil)
	if !asked.until.IsZero() {
		// No deadline: gRPC would tell it to the server, which then might be first to end the stream.
		over := time.AfterFunc(time.Until(asked.until), func() { cancel(errLoadOver) })
		defer over.Stop()
	}
	seen := inspection{kept: asked.check}
	came := c.begin(state, tags, asked.items)
	go watch(ctx, cancel, came, c.settings.timeout)
	ended := c.wire.read(ctx, state, asked.request, func(item []byte) {
		came.add()
		seen.take(item)
	})
	took := time.Since(came.sent)
	came.flush()
	if c.settings.reopen {
		c.wire.close()
	}

	ended, over := ended.blamed(context.Cause(ctx), c.settings.timeout)
	c.emit(state, tags, ended, over, came.sent.Add(took), took)
	return &Result{
		ended.status, ended.message, seen.count, over,
		shown(vu.Runtime(), seen.first, c.settings.binary()), shown(vu.Runtime(), seen.last, c.settings.binary()),
	}, nil
}

// binary is whether items are protobuf.
func (s settings) binary() bool {
	return s.transport == "grpc" || s.transport == "socket" && s.protobuf
}

// watch cancels a stream that has had no item for the time-out.
func watch(ctx context.Context, cancel context.CancelCauseFunc, came *arrivals, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		left := timeout - came.sinceLast()
		if left <= 0 {
			cancel(errStalled)
			return
		}
		timer.Reset(left)
	}
}

// outcome is how a stream ended, in gRPC's codes on every transport.
type outcome struct {
	status  int
	message string
}

const (
	statusOK               = 0
	statusCancelled        = 1
	statusInvalidArgument  = 3
	statusDeadlineExceeded = 4
	statusInternal         = 13
	statusUnavailable      = 14
)

var cut = outcome{statusUnavailable, "the stream broke off before its end"}

// blamed returns what a stream that we cancelled ended with, and whether that was because the load was over.
func (o outcome) blamed(cause error, timeout time.Duration) (outcome, bool) {
	switch {
	case o.status == statusOK || cause == nil:
		return o, false
	case errors.Is(cause, errStalled):
		return outcome{statusDeadlineExceeded, fmt.Sprintf("no item within %s", timeout)}, false
	default: // k6 may end a load as well.
		return outcome{statusCancelled, errLoadOver.Error()}, true
	}
}

// emit hands the stream's sample to k6.
func (c *Client) emit(
	state *lib.State, tags metrics.TagsAndMeta, ended outcome, over bool, end time.Time, took time.Duration,
) {
	metric, value := c.instance.duration, metrics.D(took)
	if over {
		metric, value = c.instance.cancelled, 1
	}
	tags.SetTag(sample.StatusTag, strconv.Itoa(ended.status))
	if ended.status != statusOK {
		tags.SetMetadata(sample.ErrorMetadata, ended.message)
	}
	metrics.PushIfNotDone(c.instance.vu.Context(), state.Samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags.Tags},
		Time:       end,
		Metadata:   tags.Metadata,
		Value:      value,
	})
}
