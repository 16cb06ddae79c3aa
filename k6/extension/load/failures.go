package load

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
)

const (
	statusDeadlineExceeded = 4
	statusUnavailable      = 14
)

// opened runs connect and then request, and charges the time of connecting to the request, as is done
// for REST and the socket. k6 leaves it out of grpc_req_duration, and counts nothing at all when
// connecting fails: then this counts a failed request, and returns undefined.
func (i *instance) opened(name string, connect, request sobek.Callable) (sobek.Value, error) {
	state := i.state()
	start := time.Now()
	_, err := connect(sobek.Undefined())
	took := time.Since(start)
	var thrown *sobek.Exception
	if errors.As(err, &thrown) {
		i.emitFailed(name, connectStatus(err), words(thrown), took)
		return sobek.Undefined(), nil
	}
	if err != nil {
		return nil, err // k6 stops the test.
	}
	state.Tags.Modify(func(current *metrics.TagsAndMeta) {
		current.SetMetadata(sample.ConnectingMetadata, strconv.FormatInt(int64(took), 10))
	})
	defer state.Tags.Modify(func(current *metrics.TagsAndMeta) {
		current.DeleteMetadata(sample.ConnectingMetadata)
	})
	return request(sobek.Undefined())
}

// words returns what a Go function or a script threw, without JavaScript's decoration.
func words(thrown *sobek.Exception) string {
	if cause := errors.Unwrap(thrown); cause != nil {
		return cause.Error()
	}
	return thrown.Value().String()
}

// connectStatus tells a time-out from other failures by the words that gRPC has for it: the error
// itself is lost on its way through grpc.DialContext and JavaScript.
func connectStatus(err error) int {
	if strings.Contains(err.Error(), "context deadline exceeded") {
		return statusDeadlineExceeded
	}
	return statusUnavailable
}

// failedRequest counts a request that failed after so many milliseconds and that k6 doesn't count: it
// drops the samples of gRPC requests that timed out.
func (i *instance) failedRequest(name string, status int, message string, durationMS float64) {
	i.emitFailed(name, status, message, time.Duration(durationMS*float64(time.Millisecond)))
}

// explain notes the words for a failed request that k6 does count, but without them.
func (i *instance) explain(status int, message string) {
	i.emit(i.reasons, "", status, message, 1)
}

func (i *instance) emitFailed(name string, status int, message string, took time.Duration) {
	i.emit(i.failed, name, status, message, metrics.D(took))
}

func (i *instance) emit(metric *metrics.Metric, name string, status int, message string, value float64) {
	state := i.state()
	tagged := state.Tags.GetCurrentValues()
	if name != "" {
		tagged.SetTag(sample.NameTag, name)
	}
	tagged.SetTag(sample.StatusTag, strconv.Itoa(status))
	tagged.SetMetadata(sample.ErrorMetadata, message)
	metrics.PushIfNotDone(i.vu.Context(), state.Samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tagged.Tags},
		Time:       time.Now(),
		Metadata:   tagged.Metadata,
		Value:      value,
	})
}
