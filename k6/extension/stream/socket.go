package stream

import (
	"context"

	"go.k6.io/k6/lib"
	"wirebench.dev/k6/socket"
)

// socketWire reads reply streams of the socket protocol.
type socketWire struct{ streamer socket.Streamer }

func newSocket(given settings) *socketWire {
	return &socketWire{socket.Streamer{Address: given.address, Protobuf: given.protobuf, Reconnect: given.reconnect}}
}

func (w *socketWire) read(ctx context.Context, state *lib.State, ask request, item func([]byte)) outcome {
	body := ask.json()
	if w.streamer.Protobuf {
		body = ask.protobuf()
	}
	status, message := w.streamer.Read(ctx, state.Dialer, method, body, item)
	return outcome{int(status), message}
}

func (w *socketWire) close() { w.streamer.Close() }
