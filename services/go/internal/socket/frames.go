package socket

import (
	"bufio"
	"encoding/binary"
	"io"

	"wirebench.dev/services/internal/domain"
)

const (
	jsonPreface     = "WB1J"
	protobufPreface = "WB1P"
	prefaceBytes    = 4
	cancelMethod    = "cancel"
	// Another reply frame with the same id follows.
	more = 1

	lengthBytes = 4
	idBytes     = 4
	// What a request's payload has beside method and body: id, method_length.
	requestFixedBytes = 5
	// What a reply's has beside message and body: id, status, flags, message_length.
	replyFixedBytes = 8
)

// The numbers of gRPC's status codes.
var statuses = [...]byte{
	domain.OK:                0,
	domain.Cancelled:         1,
	domain.InvalidArgument:   3,
	domain.DeadlineExceeded:  4,
	domain.NotFound:          5,
	domain.AlreadyExists:     6,
	domain.ResourceExhausted: 8,
	domain.Unimplemented:     12,
	domain.Internal:          13,
	domain.Unavailable:       14,
}

// request is a request frame; its slices are valid until the next one is read.
type request struct {
	id     uint32
	method []byte
	body   []byte
}

// frameError is a frame after which the stream can't be followed any further, and the id to answer it by.
type frameError struct {
	id      uint32
	refusal *domain.Error
}

func (e *frameError) Error() string { return e.refusal.Message }

// isWholeFrame returns whether all of a frame that has begun is buffered, so that to read it takes no time.
func isWholeFrame(reader *bufio.Reader) bool {
	if reader.Buffered() < lengthBytes {
		return false
	}
	start, err := reader.Peek(lengthBytes)
	return err == nil && uint64(reader.Buffered()) >= lengthBytes+uint64(binary.BigEndian.Uint32(start))
}

// readRequest reads a frame. It looks no further than it has to, to tell that a frame can't be read. Errors: *frameError,
// and those of the connection.
func readRequest(reader *bufio.Reader, payloadBytesMax int) (request, error) {
	start, err := reader.Peek(lengthBytes)
	if err != nil {
		return request{}, err
	}
	length := int(binary.BigEndian.Uint32(start))
	if length < idBytes {
		return request{}, tooShort(0)
	}
	if start, err = reader.Peek(lengthBytes + idBytes); err != nil {
		return request{}, err
	}
	id := binary.BigEndian.Uint32(start[lengthBytes:])
	if length > payloadBytesMax {
		return request{}, &frameError{id, domain.Errorf(domain.ResourceExhausted,
			"The request is larger than %d bytes.", payloadBytesMax)}
	}
	if length < requestFixedBytes {
		return request{}, tooShort(id)
	}
	if start, err = reader.Peek(lengthBytes + requestFixedBytes); err != nil {
		return request{}, err
	}
	methodEnd := requestFixedBytes + int(start[lengthBytes+idBytes])
	if methodEnd > length {
		return request{}, tooShort(id)
	}
	payload, err := readPayload(reader, length)
	if err != nil {
		return request{}, err
	}
	return request{id, payload[requestFixedBytes:methodEnd], payload[methodEnd:]}, nil
}

// readPayload returns what a frame holds, in the reader's own buffer if that is large enough.
func readPayload(reader *bufio.Reader, length int) ([]byte, error) {
	if lengthBytes+length <= reader.Size() {
		frame, err := reader.Peek(lengthBytes + length)
		if err != nil {
			return nil, err
		}
		_, err = reader.Discard(len(frame))
		return frame[lengthBytes:], err
	}
	if _, err := reader.Discard(lengthBytes); err != nil {
		return nil, err
	}
	payload := make([]byte, length)
	_, err := io.ReadFull(reader, payload)
	return payload, err
}

func tooShort(id uint32) *frameError {
	return &frameError{id, domain.Errorf(domain.InvalidArgument, "The frame is shorter than its fields.")}
}

// reply is a reply frame.
type reply struct {
	id      uint32
	code    domain.Code
	flags   byte
	message string
	body    []byte
}

func (r reply) write(writer *bufio.Writer) error {
	var header [lengthBytes + replyFixedBytes]byte
	binary.BigEndian.PutUint32(header[0:], uint32(replyFixedBytes+len(r.message)+len(r.body)))
	binary.BigEndian.PutUint32(header[4:], r.id)
	header[8], header[9] = statuses[r.code], r.flags
	binary.BigEndian.PutUint16(header[10:], uint16(len(r.message)))
	// A writer that has failed once does so from then on, and says it in the end.
	_, _ = writer.Write(header[:])
	_, _ = writer.WriteString(r.message)
	_, err := writer.Write(r.body)
	return err
}
