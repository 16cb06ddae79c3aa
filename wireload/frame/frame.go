// Package frame has the client's side of the frames of the socket protocol, which proto/socket.md describes
// byte by byte. It knows bytes only: no connection, no clock.
package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// The prefaces that a client opens a connection with; they settle the encoding of all its bodies.
const (
	PrefaceJSON     = "WB1J"
	PrefaceProtobuf = "WB1P"
)

// FlagMore says that another reply with the same id follows.
const FlagMore = 1 << 0

// PayloadBytesMax is the longest reply that a client takes. A server limits requests to 4 MiB; replies
// may be longer (a list of all users, base64 of a large echo), but a length beyond this is no reply of
// ours, and believing it would mean allocating whatever a stranger asks for.
const PayloadBytesMax = 64 << 20

const (
	lengthBytes       = 4
	stepBytes         = 64 << 10
	requestFixedBytes = 4 + 1
	replyFixedBytes   = 4 + 1 + 1 + 2
)

// Errors of the codec; all mean that the two sides no longer agree where a frame starts or ends, so
// that the connection is of no further use.
var (
	ErrTooShort      = errors.New("frame is shorter than its fields")
	ErrTooLong       = fmt.Errorf("frame is longer than %d bytes", PayloadBytesMax)
	ErrMethodLength  = errors.New("method must have 1 to 255 bytes")
	ErrMessageText   = errors.New("message is not UTF-8")
	ErrReservedFlags = errors.New("reply sets flags that the protocol reserves")
)

// Request is one request frame.
type Request struct {
	ID     uint32
	Method string
	Body   []byte
}

// Reply is one reply frame. Status is a gRPC status code. Body shares memory with the payload that it
// was parsed from.
type Reply struct {
	ID      uint32
	Status  uint8
	Flags   uint8
	Message string
	Body    []byte
}

// More reports whether another reply with the same id follows.
func (r Reply) More() bool { return r.Flags&FlagMore != 0 }

// AppendRequest appends a whole request frame, length included, to dst.
func AppendRequest(dst []byte, request Request) ([]byte, error) {
	length := requestFixedBytes + len(request.Method) + len(request.Body)
	switch {
	case len(request.Method) == 0 || len(request.Method) > math.MaxUint8:
		return dst, ErrMethodLength
	case length > PayloadBytesMax:
		return dst, ErrTooLong
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(length))
	dst = binary.BigEndian.AppendUint32(dst, request.ID)
	dst = append(dst, uint8(len(request.Method)))
	dst = append(dst, request.Method...)
	return append(dst, request.Body...), nil
}

// ReadPayload reads one frame and returns its payload, in memory that was used before where it is large enough. It returns
// io.EOF when the other side closed between frames, and io.ErrUnexpectedEOF when it did so inside one.
func ReadPayload(r io.Reader, used []byte) ([]byte, error) {
	// A header of its own would be allocated for each frame.
	if cap(used) < lengthBytes {
		used = make([]byte, lengthBytes)
	}
	header := used[:lengthBytes]
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header)
	if length > PayloadBytesMax {
		return nil, ErrTooLong
	}
	payload := used[:0]
	for remaining := int(length); remaining > 0; remaining = int(length) - len(payload) {
		// A server that only says that much is to come must not take the memory for it.
		step := min(remaining, max(cap(payload)-len(payload), stepBytes))
		payload = slices.Grow(payload, step)
		if _, err := io.ReadFull(r, payload[len(payload):len(payload)+step]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		}
		payload = payload[:len(payload)+step]
	}
	return payload, nil
}

// ParseReply splits the payload of a reply frame.
func ParseReply(payload []byte) (Reply, error) {
	if len(payload) < replyFixedBytes {
		return Reply{}, ErrTooShort
	}
	flags := payload[5]
	if flags&^FlagMore != 0 {
		return Reply{}, ErrReservedFlags
	}
	messageLength := int(binary.BigEndian.Uint16(payload[6:]))
	rest := payload[replyFixedBytes:]
	if len(rest) < messageLength {
		return Reply{}, ErrTooShort
	}
	message := rest[:messageLength]
	if !utf8.Valid(message) {
		return Reply{}, ErrMessageText
	}
	return Reply{
		ID:      binary.BigEndian.Uint32(payload),
		Status:  payload[4],
		Flags:   flags,
		Message: string(message),
		Body:    rest[messageLength:],
	}, nil
}
