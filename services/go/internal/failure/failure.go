// Package failure makes the errors that operations end with: gRPC statuses, which every transport translates.
package failure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// gRPC sends a message percent-encoded in a header, of which clients accept 8 KiB.
	messageCharactersMax = 500
	idsShownMax          = 10
)

// What a client is told of errors that aren't its own.
var (
	Internal    = New(codes.Internal, "Internal error.")
	Unavailable = New(codes.Unavailable, "The store is unavailable. Try again later.")
	Timeout     = New(codes.Unavailable, "The store took too long. Try again later.")
)

// New returns an error with a message for the client. Messages may quote the client's input, which can be long and not
// even text: invalid UTF-8 is replaced, and what is too long is cut.
func New(code codes.Code, format string, values ...any) error {
	message := strings.ToValidUTF8(fmt.Sprintf(format, values...), "\uFFFD")
	if utf8.RuneCountInString(message) > messageCharactersMax {
		message = string([]rune(message)[:messageCharactersMax-1]) + "…"
	}
	return status.Error(code, message)
}

// Is returns whether an error is one for the client.
func Is(err error) bool {
	_, ok := status.FromError(err)
	return ok
}

// Invalid returns an INVALID_ARGUMENT error.
func Invalid(format string, values ...any) error {
	return New(codes.InvalidArgument, format, values...)
}

// UserNotFound returns the error for an id without a user.
func UserNotFound() error { return New(codes.NotFound, "User not found.") }

// AccountNotFound returns the error for an id without an account.
func AccountNotFound() error { return New(codes.NotFound, "Account not found.") }

// UsersExist names ids that are taken; only the first ones, since a batch may hold thousands.
func UsersExist(ids ...int32) error {
	if len(ids) == 1 {
		return New(codes.AlreadyExists, "User with id %d already exists.", ids[0])
	}
	slices.Sort(ids)
	shown := make([]string, 0, idsShownMax+1)
	for _, id := range ids[:min(len(ids), idsShownMax)] {
		shown = append(shown, strconv.Itoa(int(id)))
	}
	if len(ids) > idsShownMax {
		shown = append(shown, "…")
	}
	return New(codes.AlreadyExists, "Users with ids %s already exist.", strings.Join(shown, ", "))
}

// InBatch says which item of a batch is invalid; i counts from 0.
func InBatch(kind string, i int, err error) error {
	return Invalid("%s %d of the batch: %s", kind, i+1, status.Convert(err).Message())
}
