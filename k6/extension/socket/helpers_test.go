package socket

import (
	"bufio"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/fsext"
	"go.k6.io/k6/lib/netext"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/ledgertest"
	"wirebench.dev/wireload/frame"
)

// vu is a k6 VU to run lines of JavaScript in, with what it measured.
type vu struct {
	*modulestest.Runtime
	t       *testing.T
	samples chan metrics.SampleContainer
	dialer  *netext.Dialer
}

// newVU has run init, which is JavaScript of the init context, and is ready for VU code.
func newVU(t *testing.T, init string) *vu {
	t.Helper()
	runtime := modulestest.NewRuntime(t)
	made := &vu{
		Runtime: runtime, t: t,
		samples: make(chan metrics.SampleContainer, 1000),
		dialer:  netext.NewDialer(net.Dialer{}, nil),
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	environment := runtime.VU.InitEnvField
	environment.FileSystems = map[string]fsext.Fs{"file": fsext.NewOsFs()}
	environment.CWD = &url.URL{Scheme: "file", Path: root}
	instance := New().NewModuleInstance(runtime.VU)
	if err := runtime.VU.RuntimeField.Set("socket", instance.Exports().Default); err != nil {
		t.Fatal(err)
	}
	made.run(init)
	registry := environment.Registry
	runtime.VU.InitEnvField = nil
	runtime.VU.StateField = &lib.State{
		Options: lib.Options{SystemTags: metrics.NewSystemTagSet(metrics.TagName, metrics.TagStatus)},
		Tags:    lib.NewVUStateTags(registry.RootTagSet()),
		Samples: made.samples,
		Dialer:  made.dialer,
	}
	return made
}

// run returns the value of the last expression.
func (v *vu) run(script string) sobek.Value {
	v.t.Helper()
	value, err := v.VU.RuntimeField.RunString(script)
	if err != nil {
		v.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// throws returns the message that running the script throws.
func (v *vu) throws(script string) string {
	v.t.Helper()
	_, err := v.VU.RuntimeField.RunString(script)
	if err == nil {
		v.t.Fatalf("%s: did not throw", script)
	}
	return err.Error()
}

// measured returns the samples since the last call.
func (v *vu) measured() []metrics.Sample {
	var samples []metrics.Sample
	for {
		select {
		case container := <-v.samples:
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
	ledgertest.HandleEach(listener, serve)
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
