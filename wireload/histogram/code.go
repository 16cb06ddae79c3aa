package histogram

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

// CodeOfHTTP returns the outcome that an HTTP status stands for.
func CodeOfHTTP(status int) Code {
	switch status {
	case 200, 201:
		return OK
	case 400, 415:
		return InvalidArgument
	case 404:
		return NotFound
	case 405:
		return Unimplemented
	case 409:
		return AlreadyExists
	case 413:
		return ResourceExhausted
	case 500:
		return Internal
	case 503:
		return Unavailable
	}
	return Unknown
}

// CodeOfGRPC returns the outcome that a gRPC status code stands for; the socket protocol uses the same codes.
func CodeOfGRPC(status int) Code {
	switch status {
	case 0:
		return OK
	case 1:
		return Cancelled
	case 3:
		return InvalidArgument
	case 4:
		return DeadlineExceeded
	case 5:
		return NotFound
	case 6:
		return AlreadyExists
	case 8:
		return ResourceExhausted
	case 12:
		return Unimplemented
	case 13:
		return Internal
	case 14:
		return Unavailable
	}
	return Unknown
}
