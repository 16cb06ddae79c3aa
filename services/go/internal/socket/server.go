// Package socket serves the application over the protocol of proto/socket.md: one goroutine a connection.
package socket

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/settings"
)

type Server struct {
	config     *settings.Settings
	requests   *metrics.Requests
	operations map[string]codec.Operation

	stopping, aborted context.Context
	stop, abort       context.CancelFunc
	running           sync.WaitGroup // connections
}

func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	s := &Server{config: config, requests: requests, operations: codec.Operations(app)}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.aborted, s.abort = context.WithCancel(context.Background())
	return s
}

func (s *Server) Serve(listener net.Listener) error {
	for {
		accepted, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			log.Printf("can't accept a connection: %v; further clients wait", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if s.config.TLS != nil {
			accepted = tls.Server(accepted, s.config.TLS) // the handshake is part of the first read
		}
		s.running.Go(newConnection(s, accepted).serve)
	}
}

// Shutdown closes connections between requests, and all of them when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	s.stop()
	defer context.AfterFunc(ctx, s.abort)()
	s.running.Wait()
}

// The layout of proto/socket.md. Sizes are in bytes.
const (
	idSize = 4
	// A reply's payload beside message and body: id, status, message_length.
	replyFixedSize = idSize + 3
)

type request struct {
	id     uint32
	method string
	body   []byte
}

// frameError reports a frame after which the connection can't be parsed any further.
type frameError struct {
	id uint32
	error
}

// readRequest reads a frame. Errors: frameError, and those of the connection.
func readRequest(reader *bufio.Reader) (request, error) {
	const tooShort = "The frame is shorter than its fields."
	length, err := readUint32(reader)
	if err != nil {
		return request{}, err
	}
	if length < idSize {
		return request{}, frameError{0, application.Invalid(tooShort)}
	}
	id, err := readUint32(reader)
	if err != nil {
		return request{}, err
	}
	if length > application.BodyBytesMax {
		tooLarge := application.Error(codes.ResourceExhausted, "The request is larger than %d bytes.", application.BodyBytesMax)
		return request{}, frameError{id, tooLarge}
	}
	payload, err := io.ReadAll(io.LimitReader(reader, int64(length-idSize))) // It takes memory for what arrives.
	if err != nil || len(payload) < int(length-idSize) {
		return request{}, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	bodyStart := 1 // after the method, whose size comes first
	if len(payload) > 0 {
		bodyStart += int(payload[0])
	}
	if len(payload) < bodyStart {
		return request{}, frameError{id, application.Invalid(tooShort)}
	}
	return request{id, string(payload[1:bodyStart]), payload[bodyStart:]}, nil
}

func readUint32(reader *bufio.Reader) (uint32, error) {
	bytes, err := reader.Peek(4)
	if err != nil {
		return 0, err
	}
	_, err = reader.Discard(4)
	return binary.BigEndian.Uint32(bytes), err
}

// writeReply writes a frame with a body, or with the code and message of an error.
func writeReply(writer *bufio.Writer, id uint32, message string, body []byte, err error) error {
	if err != nil {
		message = status.Convert(err).Message()
	}
	head := writer.AvailableBuffer()
	head = binary.BigEndian.AppendUint32(head, uint32(replyFixedSize+len(message)+len(body)))
	head = binary.BigEndian.AppendUint32(head, id)
	head = append(head, byte(status.Code(err)))
	head = binary.BigEndian.AppendUint16(head, uint16(len(message)))
	// A writer that has failed returns that error from then on.
	_, _ = writer.Write(append(head, message...))
	_, err = writer.Write(body)
	return err
}

const (
	jsonPreface     = "WB1J"
	protobufPreface = "WB1P"

	lineOperation = "echo.upper"
)

// encoding is how the bodies of a connection are encoded.
type encoding struct {
	decode func(body []byte, request proto.Message) error
	encode func(response proto.Message) ([]byte, error)
}

// By preface. In protobuf, responses leave out what the frame says: `success` and `message`.
var encodings = map[string]encoding{
	jsonPreface: {codec.DecodeJSON, func(response proto.Message) ([]byte, error) { return json.Marshal(codec.Data(response)) }},
	protobufPreface: {codec.DecodeProtobuf, func(response proto.Message) ([]byte, error) {
		for _, name := range []string{"success", "message"} {
			if field := response.ProtoReflect().Descriptor().Fields().ByTextName(name); field != nil {
				response.ProtoReflect().Clear(field)
			}
		}
		return proto.Marshal(response)
	}},
}
