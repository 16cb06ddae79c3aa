package histogram

import (
	"math"
	"strconv"
	"time"

	"go.k6.io/k6/lib/netext/httpext"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
)

// wire says which transport's status codes a request's tags hold.
type wire uint8

const (
	wireHTTP wire = iota
	wireGRPC      // The socket protocol's are the same.
)

// request is what one sample says about one request; times are nanoseconds.
type request struct {
	wire     wire
	tags     *metrics.TagSet
	metadata map[string]string
	end      int64
	// service is the time from the actual send, or from the start of connecting if this request needed
	// a connection, to the full reply.
	service int64
}

// requestOfTrail takes an HTTP request. http_req_duration leaves out connecting and the TLS handshake,
// which is why the trail is taken as a whole rather than by its samples.
func requestOfTrail(trail *httpext.Trail) request {
	return request{
		wire:     wireHTTP,
		tags:     trail.Tags,
		metadata: trail.Metadata,
		end:      trail.EndTime.UnixNano(),
		service:  int64(trail.Duration + trail.ConnDuration),
	}
}

// requestOfSample takes a gRPC or socket request; gRPC's connecting comes as metadata.
func requestOfSample(taken metrics.Sample) request {
	service := int64(math.Round(taken.Value * float64(time.Millisecond)))
	connecting, _ := nanoseconds(taken.Metadata, sample.ConnectingMetadata)
	return request{
		wire:     wireGRPC,
		tags:     taken.Tags,
		metadata: taken.Metadata,
		end:      taken.Time.UnixNano(),
		service:  service + connecting,
	}
}

func (r request) sent() int64 { return r.end - r.service }

// response returns the time since the request was due, and whether it was due at all. Nothing is sent
// before it is due, so that it is the service time at least.
func (r request) response() (int64, bool) {
	due, ok := r.due()
	return max(r.end-due, r.service), ok
}

// due returns when the request was due, in nanoseconds of Unix time, and whether it was due at all.
func (r request) due() (int64, bool) { return nanoseconds(r.metadata, sample.DueMetadata) }

func nanoseconds(metadata map[string]string, key string) (int64, bool) {
	text, ok := metadata[key]
	if !ok {
		return 0, false
	}
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err == nil
}

// labels returns what a request is folded under.
func (r request) labels() (operation string, outcome code) {
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
