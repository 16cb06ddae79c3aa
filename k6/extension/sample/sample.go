// Package sample holds the names that our modules, our scripts and our output agree on.
package sample

// Metrics of ours. Scripts know MismatchesMetric by its name.
const (
	// SocketDurationMetric is a trend with one sample a request of the socket client: from the actual
	// send, or from the start of connecting if the request needed a connection, to the full reply.
	SocketDurationMetric = "wirebench_socket_req_duration"
	// FailedDurationMetric is a trend with one sample a request that failed and that k6 doesn't count.
	FailedDurationMetric = "wirebench_failed_req_duration"
	// ReasonsMetric counts the words for failures that k6 counts without words.
	ReasonsMetric = "wirebench_failure_reasons"
	// StreamDurationMetric is a trend with one sample a stream: from its request, or from the start of
	// connecting if it needed a connection, to its end.
	StreamDurationMetric = "wirebench_stream_req_duration"
	// StreamItemsMetric counts the items of streams; Items says when each of them came.
	StreamItemsMetric = "wirebench_stream_items"
	// CancelledStreamsMetric counts streams that were cancelled because the load was over.
	CancelledStreamsMetric = "wirebench_cancelled_streams"
	// MismatchesMetric counts replies whose content was checked and found wrong.
	MismatchesMetric = "wirebench_mismatches"
)

// Keys of a sample's metadata. Metadata rather than tags, because k6 keeps every value of a tag for
// good, and these have a new value with every request.
const (
	// DueMetadata is the moment that the request was due, in nanoseconds of Unix time.
	DueMetadata = "due_unix_ns"
	// ConnectingMetadata is how long the connection of this request took to open, in nanoseconds, where
	// the sample's own duration leaves it out.
	ConnectingMetadata = "connecting_ns"
	// ErrorMetadata says why a request failed.
	ErrorMetadata = "error"
)

// The tags that samples are folded by; k6's names.
const (
	NameTag      = "name"
	StatusTag    = "status"
	ErrorTag     = "error"
	ErrorCodeTag = "error_code"
)
