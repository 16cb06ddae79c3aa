package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"wirebench.dev/wireload/variable"
)

// Class is a kind of failure, the same on all transports.
type Class string

// The classes that there are. Connect is a failure to connect other than Refused.
const (
	Connect  Class = "connect"
	Refused  Class = "refused"
	TLS      Class = "tls"
	Closed   Class = "closed" // The server closed before the reply began.
	Reset    Class = "reset"
	CutShort Class = "cut_short"
	Garbage  Class = "garbage"
	Timeout  Class = "timeout"
	Rejected Class = "rejected" // HTTP/2 only: the server reset the stream.
)

// ErrStopped is the error of a stream that its receiver ended.
var ErrStopped = &Failure{Message: "stopped"}

// Failure is a call that got no whole reply. Its words leave out ports, so that the same failure always reads
// the same and can be counted.
type Failure struct {
	Class   Class
	Message string
	// Unprocessed says that the server has provably not processed the request.
	Unprocessed bool
	// Unanswered says that an HTTP/1.1 connection ended before a byte of the reply came.
	Unanswered bool
}

// Error returns the failure's words.
func (f *Failure) Error() string { return f.Message }

// AsFailure returns the failure that an error is, if it is one, in words that may be shown.
func AsFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	var failure *Failure
	if !errors.As(err, &failure) {
		return nil
	}
	return &Failure{failure.Class, variable.Clean(failure.Message), failure.Unprocessed, failure.Unanswered}
}

// NewGarbage returns the failure of a reply that isn't what the protocol wants.
func NewGarbage(format string, values ...any) *Failure {
	return &Failure{Class: Garbage, Message: fmt.Sprintf(format, values...)}
}

// FailedConnect returns why a connection couldn't be opened.
func FailedConnect(err error) *Failure {
	failure := *FailedCall(err, false)
	if failure.Class == Timeout {
		failure.Message = "no connection in time"
	} else if failure.Class == Closed || failure.Class == Reset {
		failure.Class = Connect
	}
	return &failure
}

// FailedCall returns why a call on an open connection failed. `begun` is whether a byte of its reply came.
func FailedCall(err error, begun bool) *Failure {
	var failure *Failure
	var plain tls.RecordHeaderError
	var untrusted *tls.CertificateVerificationError
	var operation *net.OpError
	isEnd := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &plain):
		return &Failure{Class: TLS, Message: "the server does not speak TLS"}
	case errors.As(err, &untrusted), errors.As(err, &operation) && operation.Op == "remote error": // An alert of the server's.
		return &Failure{Class: TLS, Message: words(err)}
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return &Failure{Class: Timeout, Message: "no reply in time"}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return &Failure{Class: Connect, Message: "this machine has no port left for a connection (net.ipv4.ip_local_port_range, TIME_WAIT)"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Failure{Class: Refused, Message: "connection refused"}
	case isReset(err):
		return &Failure{Class: Reset, Message: words(err)}
	case isEnd && begun:
		return &Failure{Class: CutShort, Message: "the server closed the connection in the middle of a reply"}
	case isEnd:
		return &Failure{Class: Closed, Message: words(io.EOF)}
	case begun:
		return NewGarbage("the reply can't be read: %s", words(err))
	}
	return &Failure{Class: Connect, Message: words(err)}
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func words(err error) string {
	var operation *net.OpError
	switch {
	case isReset(err):
		return "the server reset the connection"
	case errors.Is(err, io.EOF):
		return "the server closed the connection"
	case errors.As(err, &operation):
		return operation.Err.Error()
	}
	return err.Error()
}
