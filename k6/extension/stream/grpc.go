package stream

import (
	"context"
	"errors"
	"io"
	"net"

	"go.k6.io/k6/lib"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// grpcWire reads server streams by grpc-go, as k6 connects by it: one connection, opened before the
// first call, with its failure to open as the outcome.
type grpcWire struct {
	address    string
	tls        bool
	connection *grpc.ClientConn
}

var description = grpc.StreamDesc{ServerStreams: true}

func (w *grpcWire) read(ctx context.Context, state *lib.State, ask request, item func([]byte)) outcome {
	if w.connection == nil {
		if err := w.connect(ctx, state); err != nil {
			return outcome{statusUnavailable, words(err)}
		}
	}
	given, err := ask.metadata()
	if err != nil {
		return outcome{statusInvalidArgument, err.Error()}
	}
	ctx = metadata.NewOutgoingContext(ctx, given)
	stream, err := w.connection.NewStream(ctx, &description, "/"+ask.target, grpc.ForceCodecV2(bytesCodec{}))
	if err != nil {
		return outcomeOf(err)
	}
	message := ask.body
	if err = stream.SendMsg(&message); err == nil {
		err = stream.CloseSend()
	}
	if err != nil && !errors.Is(err, io.EOF) { // With io.EOF the reason comes from RecvMsg.
		return outcomeOf(err)
	}
	var received []byte
	for {
		if err := stream.RecvMsg(&received); err != nil {
			return outcomeOf(err)
		}
		item(received)
	}
}

// connect opens the connection with the options that k6's own client has (internal/lib/netext/grpcext).
func (w *grpcWire) connect(ctx context.Context, state *lib.State) error {
	trust := insecure.NewCredentials()
	if w.tls {
		trust = credentials.NewTLS(state.TLSConfig)
	}
	var err error
	w.connection, err = grpc.DialContext(ctx, w.address, //nolint:staticcheck // As k6 does.
		grpc.WithBlock(), grpc.FailOnNonTempDialError(true), grpc.WithReturnConnectionError(), //nolint:staticcheck
		grpc.WithTransportCredentials(trust),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return state.Dialer.DialContext(ctx, "tcp", address)
		}),
	)
	return err
}

func (w *grpcWire) close() {
	if w.connection != nil {
		_ = w.connection.Close()
	}
	w.connection = nil
}

// outcomeOf says what an error of a stream means; io.EOF is its good end.
func outcomeOf(err error) outcome {
	if errors.Is(err, io.EOF) {
		return outcome{}
	}
	known := status.Convert(err)
	return outcome{int(known.Code()), known.Message()}
}

// bytesCodec hands messages over as the bytes they are, in memory that it uses again.
type bytesCodec struct{}

var _ encoding.CodecV2 = bytesCodec{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*message.(*[]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, message any) error {
	into := message.(*[]byte)
	if cap(*into) < data.Len() {
		*into = make([]byte, data.Len())
	}
	*into = (*into)[:data.Len()]
	data.CopyTo(*into)
	return nil
}
