package histogram

import (
	"math"
	"strconv"
	"time"

	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
	"wirebench.dev/wireload/histogram"
)

// wire says which transport's status codes a request's tags hold.
type wire uint8

const (
	wireHTTP wire = iota
	wireGRPC      // The socket protocol's are the same.
)

// request is what one sample says about one request.
type request struct {
	histogram.Request
	wire     wire
	tags     *metrics.TagSet
	metadata map[string]string
}

// requestOfTrail takes an HTTP request. http_req_duration leaves out connecting and the TLS handshake,
// which is why the trail is taken as a whole rather than by its samples.
func requestOfTrail(trail *httpext.Trail) request {
	service := int64(trail.Duration + trail.ConnDuration)
	return newRequest(wireHTTP, trail.Tags, trail.Metadata, trail.EndTime.UnixNano(), service)
}

// requestOfSample takes a gRPC or socket request; gRPC's connecting comes as metadata.
func requestOfSample(taken metrics.Sample) request {
	service := int64(math.Round(taken.Value * float64(time.Millisecond)))
	connecting, _ := nanoseconds(taken.Metadata, sample.ConnectingMetadata)
	return newRequest(wireGRPC, taken.Tags, taken.Metadata, taken.Time.UnixNano(), service+connecting)
}

func newRequest(over wire, tags *metrics.TagSet, metadata map[string]string, end, service int64) request {
	due, _ := nanoseconds(metadata, sample.DueMetadata)
	return request{histogram.Request{EndUnixNS: end, ServiceNS: service, DueUnixNS: due}, over, tags, metadata}
}

func nanoseconds(metadata map[string]string, key string) (int64, bool) {
	text, ok := metadata[key]
	if !ok {
		return 0, false
	}
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err == nil
}

// labels returns what a request is folded under.
func (r request) labels() (operation string, outcome histogram.Code) {
	operation, _ = r.tags.Get(sample.NameTag)
	status, _ := r.tags.Get(sample.StatusTag)
	if r.wire == wireGRPC {
		return operation, codeOfGRPC(status)
	}
	errorCode, _ := r.tags.Get(sample.ErrorCodeTag)
	return operation, codeOfHTTP(status, errorCode)
}

// reason returns the words for a failed request, if there are any.
func (r request) reason() string {
	if text, ok := r.metadata[sample.ErrorMetadata]; ok {
		return text
	}
	if text, ok := r.tags.Get(sample.ErrorTag); ok {
		return text
	}
	if status, ok := r.tags.Get(sample.StatusTag); ok && r.wire == wireHTTP {
		return "HTTP status " + status
	}
	return ""
}
