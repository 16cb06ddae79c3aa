package histogram

import "cmp"

// Code is the outcome of a request, in the words of docs/histogram-file.md.
type Code string

// The outcomes that there are.
const (
	OK                Code = "ok"
	Cancelled         Code = "cancelled"
	Unknown           Code = "unknown"
	InvalidArgument   Code = "invalid_argument"
	DeadlineExceeded  Code = "deadline_exceeded"
	NotFound          Code = "not_found"
	AlreadyExists     Code = "already_exists"
	ResourceExhausted Code = "resource_exhausted"
	Unimplemented     Code = "unimplemented"
	Internal          Code = "internal"
	Unavailable       Code = "unavailable"
)

var ofHTTP = map[int]Code{
	400: InvalidArgument, 415: InvalidArgument, 404: NotFound, 405: Unimplemented, 409: AlreadyExists,
	413: ResourceExhausted, 500: Internal, 503: Unavailable,
}

// CodeOfHTTP returns the outcome that an HTTP status stands for.
func CodeOfHTTP(status int) Code {
	if status/100 == 2 {
		return OK
	}
	return cmp.Or(ofHTTP[status], Unknown)
}

var ofGRPC = map[int]Code{
	0: OK, 1: Cancelled, 2: Unknown, 3: InvalidArgument, 4: DeadlineExceeded, 5: NotFound, 6: AlreadyExists,
	8: ResourceExhausted, 12: Unimplemented, 13: Internal, 14: Unavailable,
}

// CodeOfGRPC returns the outcome that a gRPC status code stands for; the socket protocol uses the same codes.
func CodeOfGRPC(status int) Code { return cmp.Or(ofGRPC[status], Unknown) }
