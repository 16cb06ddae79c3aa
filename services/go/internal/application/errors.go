package application

import (
	"fmt"
	"slices"
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

// Error returns an error with a message for the client. Messages may quote the client's input, which can be long and not
// even text: invalid UTF-8 is replaced, and what is too long is cut.
func Error(code codes.Code, format string, values ...any) error {
	message := strings.ToValidUTF8(fmt.Sprintf(format, values...), "\uFFFD")
	if utf8.RuneCountInString(message) > messageCharactersMax {
		message = string([]rune(message)[:messageCharactersMax-1]) + "…"
	}
	return status.Error(code, message)
}

// Invalid returns an INVALID_ARGUMENT error.
func Invalid(format string, values ...any) error {
	return Error(codes.InvalidArgument, format, values...)
}

// InBatch says which item of a batch is invalid; i counts from 0.
func InBatch(i int, err error) error {
	return Invalid("User %d of the batch: %s", i+1, status.Convert(err).Message())
}

// usersExist names ids that are taken; only the first ones, since a batch may hold thousands.
func usersExist(ids []int32) error {
	if len(ids) == 1 {
		return Error(codes.AlreadyExists, "User with id %d already exists.", ids[0])
	}
	slices.Sort(ids)
	shown := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids[:min(len(ids), idsShownMax)]), " ", ", "), "[]")
	if len(ids) > idsShownMax {
		shown += ", …"
	}
	return Error(codes.AlreadyExists, "Users with ids %s already exist.", shown)
}
