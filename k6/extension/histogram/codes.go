package histogram

import "strconv"

// code is an outcome in the words of docs/histogram-file.md.
type code string

const (
	codeOK                code = "ok"
	codeCancelled         code = "cancelled"
	codeUnknown           code = "unknown"
	codeInvalidArgument   code = "invalid_argument"
	codeDeadlineExceeded  code = "deadline_exceeded"
	codeNotFound          code = "not_found"
	codeAlreadyExists     code = "already_exists"
	codeResourceExhausted code = "resource_exhausted"
	codeUnimplemented     code = "unimplemented"
	codeInternal          code = "internal"
	codeUnavailable       code = "unavailable"
)

// codeOfHTTP gives the outcome of an HTTP request by its status and, where there was no reply, k6's
// error code.
func codeOfHTTP(status, errorCode string) code {
	switch status {
	case "200", "201":
		return codeOK
	case "400", "415":
		return codeInvalidArgument
	case "404":
		return codeNotFound
	case "405":
		return codeUnimplemented
	case "409":
		return codeAlreadyExists
	case "413":
		return codeResourceExhausted
	case "500":
		return codeInternal
	case "503":
		return codeUnavailable
	case "0":
		return codeOfHTTPError(errorCode)
	}
	return codeUnknown
}

// The error codes are k6's: https://grafana.com/docs/k6/latest/javascript-api/error-codes/
func codeOfHTTPError(errorCode string) code {
	const requestTimeout, dialTimeout = "1050", "1211"
	if errorCode == requestTimeout || errorCode == dialTimeout {
		return codeDeadlineExceeded
	}
	return codeUnavailable
}

// codeOfGRPC gives the outcome by a gRPC status code, which the socket protocol uses as well.
func codeOfGRPC(status string) code {
	number, err := strconv.Atoi(status)
	if err != nil {
		return codeUnknown
	}
	switch number {
	case 0:
		return codeOK
	case 1:
		return codeCancelled
	case 3:
		return codeInvalidArgument
	case 4:
		return codeDeadlineExceeded
	case 5:
		return codeNotFound
	case 6:
		return codeAlreadyExists
	case 8:
		return codeResourceExhausted
	case 12:
		return codeUnimplemented
	case 13:
		return codeInternal
	case 14:
		return codeUnavailable
	}
	return codeUnknown
}
