package grpc

import (
	"encoding/binary"
	"net/url"
	"strconv"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

// noStatus stands for a status that hasn't come.
const noStatus = -1

// reply is what has come of a stream's reply.
type reply struct {
	item                   func([]byte) bool
	httpStatus, grpcStatus int
	text                   string
	// data is what came of messages; from `parsed` on no whole one is there.
	data     []byte
	parsed   int
	messages int
	// message is the place of the last one in data.
	message []byte
	err     error
}

// begin is for a fresh stream.
func (r *reply) begin(item func([]byte) bool) {
	r.item = item
	r.httpStatus, r.grpcStatus, r.text = noStatus, noStatus, ""
	r.data, r.parsed, r.messages, r.message, r.err = r.data[:0], 0, 0, nil, nil
}

// TakeField takes a field of the headers or trailers.
func (r *reply) TakeField(field hpack.HeaderField) {
	switch field.Name {
	case ":status":
		r.httpStatus = numberIn(field.Value)
	case "grpc-status":
		r.grpcStatus = numberIn(field.Value)
	case "grpc-message":
		r.text = field.Value
	}
}

func numberIn(text string) int {
	number, err := strconv.Atoi(text)
	if err != nil {
		return noStatus
	}
	return number
}

// TakeData takes messages, each a byte that says whether it is compressed, a length of four, and as many bytes.
func (r *reply) TakeData(payload []byte) error {
	if len(r.data)+len(payload) > transport.ReplyBytesMax {
		return transport.NewGarbage("the reply is longer than %d bytes", transport.ReplyBytesMax)
	}
	r.data = append(r.data, payload...)
	for len(r.data)-r.parsed >= prefixBytes {
		head := r.data[r.parsed:]
		length := int(binary.BigEndian.Uint32(head[1:]))
		if head[0] != 0 {
			return transport.NewGarbage("the reply is compressed, which it was not asked to be")
		}
		if length > transport.ReplyBytesMax {
			return transport.NewGarbage("the reply is a message of %d bytes", length)
		}
		if len(head)-prefixBytes < length {
			break
		}
		r.message = head[prefixBytes : prefixBytes+length]
		r.parsed += prefixBytes + length
		r.messages++
		if r.item != nil && !r.item(r.message) {
			return transport.ErrStopped
		}
	}
	if r.item != nil {
		r.data, r.parsed = append(r.data[:0], r.data[r.parsed:]...), 0
	}
	return nil
}

// outcome returns what a stream that has ended came to.
func (r *reply) outcome() (transport.Reply, error) {
	switch {
	case r.grpcStatus == noStatus && r.httpStatus != noStatus && r.httpStatus/100 != 2:
		text := "HTTP status " + strconv.Itoa(r.httpStatus)
		return transport.Reply{Code: histogram.CodeOfHTTP(r.httpStatus), Message: text}, nil
	case r.grpcStatus == noStatus:
		return transport.Reply{}, transport.NewGarbage("the reply has no grpc-status")
	case r.grpcStatus == 0 && len(r.data) > r.parsed:
		return transport.Reply{}, &transport.Failure{Class: transport.CutShort, Message: "the reply ends within a message"}
	case r.grpcStatus == 0 && r.item == nil && r.messages != 1:
		return transport.Reply{}, transport.NewGarbage("the reply has %d messages and not one", r.messages)
	}
	answer := transport.Reply{Code: histogram.CodeOfGRPC(r.grpcStatus), Body: r.message}
	if answer.Code != histogram.OK {
		answer.Message = unescape(r.text)
	}
	if name, ok := otherCodes[r.grpcStatus]; ok {
		answer.Message = name + ": " + answer.Message
	}
	return answer, nil
}

// otherCodes are gRPC's status codes that count as unknown.
var otherCodes = map[int]string{
	7: "PERMISSION_DENIED", 9: "FAILED_PRECONDITION", 10: "ABORTED", 11: "OUT_OF_RANGE", 15: "DATA_LOSS", 16: "UNAUTHENTICATED",
}

// unescape reads the percent-encoding of grpc-message.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
