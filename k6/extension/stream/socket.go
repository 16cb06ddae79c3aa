package stream

import (
	"context"

	"go.k6.io/k6/lib"
	"wirebench.dev/k6/socket"
	"wirebench.dev/wireload/secure"
)

// socketWire reads reply streams of the socket protocol.
type socketWire struct {
	streamer socket.Streamer
	tls      bool
}

func newSocket(given settings) *socketWire {
	streamer := socket.Streamer{Address: given.address, Protobuf: given.protobuf, Reconnect: given.reconnect}
	return &socketWire{streamer, given.tls}
}

func (w *socketWire) read(ctx context.Context, state *lib.State, ask request, item func([]byte)) outcome {
	dialer := state.Dialer
	if w.tls {
		dialer = secure.Dialer{Plain: state.Dialer, Config: state.TLSConfig}
	}
	status, message := w.streamer.Read(ctx, dialer, ask.target, ask.body, item)
	return outcome{int(status), message}
}

func (w *socketWire) close() { w.streamer.Close() }
