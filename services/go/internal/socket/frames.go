package socket

import (
	"bufio"
	"encoding/binary"
	"io"

	"google.golang.org/grpc/codes"

	"wirebench.dev/services/internal/failure"
)

// The layout of proto/socket.md.
const (
	jsonPreface     = "WB1J"
	protobufPreface = "WB1P"
	prefaceBytes    = 4
	// Another reply frame with the same id follows.
	flagMore = 1

	lengthBytes = 4
	idBytes     = 4
	// A request's payload beside method and body: id, method_length.
	requestFixedBytes = idBytes + 1
	// A reply's payload beside message and body: id, status, flags, message_length.
	replyFixedBytes = idBytes + 4
)

// request is a request frame.
type request struct {
	id     uint32
	method string
	body   []byte
}

// frameError is about a frame after which the stream can't be read any further.
type frameError struct {
	id uint32
	error
}

// readRequest reads a frame, and no more of an invalid one than it takes to reject it. Errors: frameError, and those of
// the connection.
func readRequest(reader *bufio.Reader, payloadBytesMax int) (request, error) {
	// 0: length, 4: id, 8: method_length
	var head [lengthBytes + requestFixedBytes]byte
	if _, err := io.ReadFull(reader, head[:lengthBytes]); err != nil {
		return request{}, err
	}
	length := int(binary.BigEndian.Uint32(head[:]))
	if length < idBytes {
		return request{}, tooShort(0)
	}
	if _, err := io.ReadFull(reader, head[lengthBytes:lengthBytes+idBytes]); err != nil {
		return request{}, err
	}
	id := binary.BigEndian.Uint32(head[lengthBytes:])
	if length > payloadBytesMax {
		return request{}, frameError{id, failure.New(codes.ResourceExhausted,
			"The request is larger than %d bytes.", payloadBytesMax)}
	}
	if length < requestFixedBytes {
		return request{}, tooShort(id)
	}
	methodBytes, err := reader.ReadByte()
	if err != nil {
		return request{}, err
	}
	rest := length - requestFixedBytes
	if int(methodBytes) > rest {
		return request{}, tooShort(id)
	}
	payload := make([]byte, rest)
	_, err = io.ReadFull(reader, payload)
	return request{id, string(payload[:methodBytes]), payload[methodBytes:]}, err
}

func tooShort(id uint32) frameError {
	return frameError{id, failure.Invalid("The frame is shorter than its fields.")}
}

// reply is a reply frame.
type reply struct {
	id      uint32
	code    codes.Code
	flags   byte
	message string
	body    []byte
}

func (r reply) write(writer *bufio.Writer) error {
	head := writer.AvailableBuffer()
	head = binary.BigEndian.AppendUint32(head, uint32(replyFixedBytes+len(r.message)+len(r.body)))
	head = binary.BigEndian.AppendUint32(head, r.id)
	head = append(head, byte(r.code), r.flags)
	head = binary.BigEndian.AppendUint16(head, uint16(len(r.message)))
	// A writer that has failed returns that error from then on.
	_, _ = writer.Write(head)
	_, _ = writer.WriteString(r.message)
	_, err := writer.Write(r.body)
	return err
}
