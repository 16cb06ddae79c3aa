package socket

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/ledgertest"
	"wirebench.dev/k6/vutest"
	"wirebench.dev/wireload/frame"
	"wirebench.dev/wireload/transport/transporttest"
)

type vu struct{ *vutest.User }

// newVU has run init, which is JavaScript of the init context, and is ready for VU code.
func newVU(t *testing.T, init string) vu {
	t.Helper()
	return vu{vutest.New(t, "socket", New(), init)}
}

// measured returns the samples since the last call.
func (v vu) measured() []metrics.Sample {
	var samples []metrics.Sample
	for {
		select {
		case container := <-v.Samples:
			samples = append(samples, container.GetSamples()...)
		default:
			return samples
		}
	}
}

// server answers each connection with serve, on a port of its own, until the test ends.
func server(t *testing.T, serve func(connection net.Conn)) (address string) {
	t.Helper()
	listener := ledgertest.Listen(t, &atomic.Int64{})
	transporttest.HandleEach(listener, serve)
	return listener.Addr().String()
}

// answering is a server that gives one reply for every request.
func answering(t *testing.T, answer func(frame.Request) frame.Reply) (address string) {
	t.Helper()
	return server(t, func(connection net.Conn) {
		reader := bufio.NewReader(connection)
		if _, err := io.ReadFull(reader, make([]byte, 4)); err != nil {
			return
		}
		for {
			request, err := readRequest(reader)
			if err != nil {
				return
			}
			reply := answer(request)
			reply.ID = request.ID
			if writeReply(connection, reply) != nil {
				return
			}
		}
	})
}

// takeOne reads a preface and one request, so that closing then is an orderly end and no reset.
func takeOne(connection net.Conn) {
	_, _ = io.ReadFull(connection, make([]byte, 4))
	_, _ = readRequest(connection)
}

func readRequest(reader io.Reader) (frame.Request, error) {
	payload, err := frame.ReadPayload(reader)
	if err != nil {
		return frame.Request{}, err
	}
	return frame.ParseRequest(payload)
}

func writeReply(writer io.Writer, reply frame.Reply) error {
	encoded, err := frame.AppendReply(nil, reply)
	if err != nil {
		return err
	}
	_, err = writer.Write(encoded)
	return err
}

// closedPort is an address that nothing listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	listener := ledgertest.Listen(t, &atomic.Int64{})
	_ = listener.Close()
	return listener.Addr().String()
}
