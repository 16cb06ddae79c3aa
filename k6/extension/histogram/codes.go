package histogram

import (
	"strconv"

	"wirebench.dev/wireload/histogram"
)

// codeOfHTTP gives the outcome of an HTTP request by its status and, where there was no reply, k6's
// error code.
func codeOfHTTP(status, errorCode string) histogram.Code {
	number, err := strconv.Atoi(status)
	switch {
	case err != nil:
		return histogram.Unknown
	case number == 0:
		return codeOfHTTPError(errorCode)
	}
	return histogram.CodeOfHTTP(number)
}

// The error codes are k6's: https://grafana.com/docs/k6/latest/javascript-api/error-codes/
func codeOfHTTPError(errorCode string) histogram.Code {
	const requestTimeout, dialTimeout = "1050", "1211"
	if errorCode == requestTimeout || errorCode == dialTimeout {
		return histogram.DeadlineExceeded
	}
	return histogram.Unavailable
}

// codeOfGRPC gives the outcome by a gRPC status code, which the socket protocol uses as well.
func codeOfGRPC(status string) histogram.Code {
	number, err := strconv.Atoi(status)
	if err != nil {
		return histogram.Unknown
	}
	return histogram.CodeOfGRPC(number)
}
