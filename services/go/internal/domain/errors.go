// Package domain is what the services do, with no transport in sight.
package domain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Code is how an operation ended.
type Code int

// The codes of the contract, one set for every transport.
const (
	OK Code = iota
	InvalidArgument
	NotFound
	AlreadyExists
	ResourceExhausted
	Unimplemented
	DeadlineExceeded
	Unavailable
	Internal
	Cancelled
)

var codeNames = [...]string{
	"ok", "invalid_argument", "not_found", "already_exists", "resource_exhausted",
	"unimplemented", "deadline_exceeded", "unavailable", "internal",
	"cancelled",
}

// Codes returns all of them.
func Codes() []Code {
	codes := make([]Code, len(codeNames))
	for i := range codes {
		codes[i] = Code(i)
	}
	return codes
}

// String is the `code` label of the metrics.
func (c Code) String() string { return codeNames[c] }

const (
	// gRPC carries a message percent-encoded in a header, of which clients take 8 KiB.
	messageCharactersMax = 500
	idsShown             = 10
)

// Error is an operation that was refused; Message is for the client and part of the contract.
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error. Messages may quote the client, whose words can be megabytes and no text: what isn't UTF-8 is
// replaced, what is too long is cut.
func Errorf(code Code, format string, values ...any) *Error {
	message := strings.ToValidUTF8(fmt.Sprintf(format, values...), "\uFFFD")
	if utf8.RuneCountInString(message) > messageCharactersMax {
		message = string([]rune(message)[:messageCharactersMax-1]) + "…"
	}
	return &Error{code, message}
}

func invalid(format string, values ...any) *Error {
	return Errorf(InvalidArgument, format, values...)
}

// usersExist names the ids that are taken; only the first of them, since a batch may hold thousands.
func usersExist(taken []int32) *Error {
	if len(taken) == 1 {
		return Errorf(AlreadyExists, "User with id %d already exists.", taken[0])
	}
	slices.Sort(taken)
	shown := make([]string, 0, idsShown+1)
	for _, id := range taken[:min(len(taken), idsShown)] {
		shown = append(shown, strconv.Itoa(int(id)))
	}
	if len(taken) > idsShown {
		shown = append(shown, "…")
	}
	return Errorf(AlreadyExists, "Users with ids %s already exist.", strings.Join(shown, ", "))
}
