package socket

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
	"wirebench.dev/wireload/frame"
)

// load gives a client its messages.
const load = `load('../proto/contract.binpb', {
	'users.get': 'wirebench.v1.UserService/GetUser', 'users.list': 'wirebench.v1.UserService/ListUsers',
})`

const jsonClient = `const client = new socket.Client({codec: 'json', timeout: '300ms'});`

func TestACallCarriesMethodAndBodyAndGivesTheReply(t *testing.T) {
	address := answering(t, func(request frame.Request) frame.Reply {
		return frame.Reply{Message: request.Method, Body: request.Body}
	})
	vu := newVU(t, jsonClient)
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	for _, body := range []string{`{id: 7}`, `'{"id":7}'`} {
		vu.Run(`var reply = client.call('users.get', ` + body + `)`)
		if got, want := vu.Run(`[reply.status, reply.message, reply.json().id].join()`).String(), "0,users.get,7"; got != want {
			t.Errorf("%s: want %q, got %q", body, want, got)
		}
	}
}

func TestTheCodecIsSettledByThePreface(t *testing.T) {
	for codec, want := range map[string]string{"json": "WB1J", "protobuf": "WB1P"} {
		prefaces := make(chan string, 1)
		address := server(t, func(connection net.Conn) {
			preface := make([]byte, 4)
			_, _ = io.ReadFull(connection, preface)
			prefaces <- string(preface)
		})
		vu := newVU(t, `const client = new socket.Client({codec: '`+codec+`'}); client.`+load)
		vu.Run(fmt.Sprintf(`client.connect('%s'); client.call('users.get', {id: 1})`, address))
		if got := <-prefaces; got != want {
			t.Errorf("%s: want %q, got %q", codec, want, got)
		}
	}
}

func TestProtobufBodiesAreMessagesAndReadLikeJSON(t *testing.T) {
	bodies := make(chan []byte, 1)
	// wirebench.v1.GetUserResponse{data: {id: 7, name: "Ada"}}
	response := []byte{0x1a, 7, 0x08, 7, 0x12, 3, 'A', 'd', 'a'}
	address := answering(t, func(request frame.Request) frame.Reply {
		bodies <- request.Body
		if request.Method == "users.list" {
			return frame.Reply{}
		}
		return frame.Reply{Body: response}
	})
	vu := newVU(t, `const client = new socket.Client({codec: 'protobuf'}); client.`+load)
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	// A JavaScript object made of a Go map has its keys in no order.
	vu.Run(`const user = client.call('users.get', {id: 7}).json()`)
	if got, want := vu.Run(`JSON.stringify([user.id, user.name])`).String(), `[7,"Ada"]`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	if got, want := string(<-bodies), "\x08\x07"; got != want {
		t.Errorf("want body %x, got %x", want, got)
	}
	if got := vu.Run(`client.call('users.list', {after_id: 1}).json().length`).ToInteger(); got != 0 {
		t.Errorf("an empty list must read as one, got length %d", got)
	}
}

func TestAFailureOnTheWireIsAReplyAndCountsAsARequest(t *testing.T) {
	hangUp := server(t, func(connection net.Conn) { takeOne(connection) })
	midReply := server(t, func(connection net.Conn) {
		takeOne(connection)
		_, _ = connection.Write([]byte{0, 0, 0, 100, 0, 0})
	})
	silent := server(t, func(connection net.Conn) { _, _ = io.Copy(io.Discard, connection) })
	oversized := server(t, func(connection net.Conn) {
		_, _ = connection.Write([]byte{0xff, 0xff, 0xff, 0xff})
		_, _ = io.Copy(io.Discard, connection)
	})
	stranger := server(t, func(connection net.Conn) {
		_ = writeReply(connection, frame.Reply{ID: 99, Message: "who?"})
		_, _ = io.Copy(io.Discard, connection)
	})
	streaming := answering(t, func(frame.Request) frame.Reply { return frame.Reply{Flags: frame.FlagMore} })
	for _, test := range []struct {
		name, address, status, words string
	}{
		{"refused", closedPort(t), "14", "connection refused"},
		{"hung up", hangUp, "14", "the server closed the connection"},
		{"hung up in the middle of a reply", midReply, "14", "in the middle of a reply"},
		{"silent", silent, "4", "no reply within 300ms"},
		{"oversized length", oversized, "14", "longer than"},
		{"unknown id", stranger, "14", "not open: who?"},
		{"stream", streaming, "14", "stream"},
	} {
		t.Run(test.name, func(t *testing.T) {
			vu := newVU(t, jsonClient)
			vu.Run(fmt.Sprintf(`client.connect('%s'); const reply = client.call('users.get', {id: 1})`, test.address))
			if got := vu.Run(`String(reply.status)`).String(); got != test.status {
				t.Errorf("want status %s, got %s", test.status, got)
			}
			if got := vu.Run(`reply.message`).String(); !strings.Contains(got, test.words) {
				t.Errorf("want %q in %q", test.words, got)
			}
			if vu.Run(`client.connected`).ToBoolean() {
				t.Error("a connection that broke must not be used again")
			}
			samples := vu.measured()
			if len(samples) != 1 || tag(samples[0], "status") != test.status || samples[0].Metadata["error"] == "" {
				t.Errorf("want one failed request with its reason, got %v", samples)
			}
		})
	}
}

func TestTheServersErrorsLeaveTheConnectionOpen(t *testing.T) {
	address := answering(t, func(frame.Request) frame.Reply {
		return frame.Reply{Status: 5, Message: "User not found."}
	})
	vu := newVU(t, jsonClient)
	vu.Run(fmt.Sprintf(`client.connect('%s'); const reply = client.call('users.get', {id: 1})`, address))
	if got, want := vu.Run(`[reply.status, reply.message, client.connected].join()`).String(), "5,User not found.,true"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if got := vu.Throws(`reply.json()`); !strings.Contains(got, "User not found.") {
		t.Errorf("want the reason, got %q", got)
	}
}

func TestAReplyToATooLongRequestArrivesThoughTheServerReadsNoMore(t *testing.T) {
	address := server(t, func(connection net.Conn) {
		_, _ = io.ReadFull(connection, make([]byte, 1024))
		_ = writeReply(connection, frame.Reply{ID: 1, Status: statusResourceExhausted, Message: "too long"})
		time.Sleep(time.Second)
	})
	vu := newVU(t, `const client = new socket.Client({timeout: '5s'});`)
	vu.Run(fmt.Sprintf(`client.connect('%s'); const text = '"' + 'a'.repeat(32 << 20) + '"'`, address))
	start := time.Now()
	got := vu.Run(`const reply = client.call('echo.upper', text); [reply.status, client.connected].join()`).String()
	if want := "8,false"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("waited %s for a write without a reader", took)
	}
}

func TestALargeRequestAndReplyPass(t *testing.T) {
	address := answering(t, func(request frame.Request) frame.Reply { return frame.Reply{Body: request.Body} })
	vu := newVU(t, `const client = new socket.Client({timeout: '5s'});`)
	vu.Run(fmt.Sprintf(`client.connect('%s'); const text = '"' + 'a'.repeat(2 << 20) + '"'`, address))
	for range 5 {
		if got := vu.Run(`client.call('echo.echo', text).json().length`).ToInteger(); got != 2<<20 {
			t.Fatalf("want all bytes back, got %d", got)
		}
	}
	if !vu.Run(`client.connected`).ToBoolean() {
		t.Error("the connection must be kept")
	}
}

func TestConnectingBelongsToTheRequestThatNeededIt(t *testing.T) {
	address := answering(t, func(frame.Request) frame.Reply { return frame.Reply{} })
	vu := newVU(t, `const client = new socket.Client({timeout: '10s'});`)
	vu.VU.StateField.Dialer = slowDialer{vu.Dialer}
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	vu.Run(`client.call('users.get'); client.call('users.get')`)
	samples := vu.measured()
	if dialMS := metrics.D(dialTakes); len(samples) != 2 || samples[0].Value < dialMS || samples[1].Value >= dialMS {
		t.Errorf("want only the first request to carry it, got %v", samples)
	}
}

// dialTakes is longer than a busy machine keeps a request waiting.
const dialTakes = 400 * time.Millisecond

type slowDialer struct{ lib.DialContexter }

func (d slowDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	time.Sleep(dialTakes)
	return d.DialContexter.DialContext(ctx, network, address)
}

func TestAClosedClientConnectsAgainByItself(t *testing.T) {
	connections := make(chan struct{}, 10)
	address := server(t, func(connection net.Conn) {
		connections <- struct{}{}
		_, _ = io.ReadFull(connection, make([]byte, 4))
		for {
			request, err := readRequest(connection)
			if err != nil || writeReply(connection, frame.Reply{ID: request.ID}) != nil {
				return
			}
		}
	})
	vu := newVU(t, jsonClient)
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	for range 3 {
		if got := vu.Run(`client.call('users.get', {id: 1}).status`).ToInteger(); got != 0 {
			t.Fatalf("want status 0, got %d", got)
		}
		vu.Run(`client.close()`)
	}
	if got := len(connections); got != 3 {
		t.Errorf("want a connection each, got %d", got)
	}
}

func TestAConnectionThatTheServerClosedWhileIdleIsReplacedBeforeItIsUsed(t *testing.T) {
	address := server(t, func(connection net.Conn) {
		takeOne(connection)
		_ = writeReply(connection, frame.Reply{ID: 1})
	})
	vu := newVU(t, jsonClient)
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	for range 2 {
		if got := vu.Run(`client.call('users.get', {id: 1}).status`).ToInteger(); got != 0 {
			t.Fatalf("want status 0, got %d", got)
		}
		lookAtConnectionsIdleFor(t, 0, 10*time.Second) // Until the server has closed it.
	}
}

func TestACallThatFindsItsConnectionClosedGoesOutOnceMoreIfAskedTo(t *testing.T) {
	address := server(t, func(connection net.Conn) {
		reader := bufio.NewReader(connection)
		_, _ = io.ReadFull(reader, make([]byte, 4))
		request, err := readRequest(reader)
		if err != nil {
			return
		}
		_ = writeReply(connection, frame.Reply{ID: request.ID})
		// The second request is read, and answered by the end of the connection.
		_, _ = readRequest(reader)
	})
	for _, c := range []struct {
		settings string
		statuses string
	}{{"{reconnect: true}", "0,0,0"}, {"{}", "0,14,0"}} {
		vu := newVU(t, "const client = new socket.Client("+c.settings+")")
		vu.Run("client.connect('" + address + "')")
		got := vu.Run("[1, 2, 3].map(() => client.call('users.get', {id: 1}).status).join()").String()
		if got != c.statuses {
			t.Errorf("with %s: got %s, want %s", c.settings, got, c.statuses)
		}
	}
}

func TestACallThatIsAnsweredDoesNotGoOutOnceMore(t *testing.T) {
	var connections atomic.Int64
	address := server(t, func(connection net.Conn) {
		connections.Add(1)
		takeOne(connection)
		_ = writeReply(connection, frame.Reply{ID: 1})
		_, _ = io.ReadFull(connection, make([]byte, 1024))
		_ = writeReply(connection, frame.Reply{ID: 2, Status: statusResourceExhausted, Message: "too long"})
		time.Sleep(writeGrace / 4) // Then the rest of the request meets a closed connection.
	})
	vu := newVU(t, "const client = new socket.Client({reconnect: true})")
	vu.Run(fmt.Sprintf(`client.connect('%s'); const text = '"' + 'a'.repeat(32 << 20) + '"'`, address))
	got := vu.Run(`[client.call('echo.upper', '""').status, client.call('echo.upper', text).status].join()`).String()
	if got != "0,8" || connections.Load() != 1 {
		t.Errorf("got %s over %d connections", got, connections.Load())
	}
}

func TestAnIdleConnectionThatIsOpenIsKept(t *testing.T) {
	lookAtConnectionsIdleFor(t, 0, time.Millisecond)
	address := answering(t, func(frame.Request) frame.Reply { return frame.Reply{} })
	vu := newVU(t, jsonClient)
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	for range 3 {
		vu.Run(`client.call('users.get', '{}')`)
	}
	if want := int64(4 + 3*(4+4+1+len("users.get")+len("{}"))); vu.Dialer.BytesWritten != want {
		t.Errorf("want one preface and three requests, %d bytes, got %d", want, vu.Dialer.BytesWritten)
	}
}

func TestBytesAreThoseOfTheFramesAndPassK6sDialer(t *testing.T) {
	address := answering(t, func(frame.Request) frame.Reply { return frame.Reply{Body: []byte("12345")} })
	vu := newVU(t, jsonClient)
	vu.Run(fmt.Sprintf(`client.connect('%s'); client.call('users.get', '{}')`, address))
	if want := int64(len("WB1J") + 4 + 4 + 1 + len("users.get") + len("{}")); vu.Dialer.BytesWritten != want {
		t.Errorf("want %d bytes sent, got %d", want, vu.Dialer.BytesWritten)
	}
	if want := int64(4 + 4 + 1 + 1 + 2 + 5); vu.Dialer.BytesRead != want {
		t.Errorf("want %d bytes received, got %d", want, vu.Dialer.BytesRead)
	}
}

func TestSamplesCarryTheVUsTagsAndMetadata(t *testing.T) {
	address := answering(t, func(frame.Request) frame.Reply { return frame.Reply{} })
	vu := newVU(t, jsonClient)
	vu.VU.StateField.Tags.Modify(func(tags *metrics.TagsAndMeta) {
		tags.SetTag("scenario", "steady")
		tags.SetMetadata("due_unix_ns", "17")
	})
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	vu.Run(`client.call('users.get', {}); client.call('users.get', {}, {tags: {name: 'mine'}})`)
	samples := vu.measured()
	if len(samples) != 2 {
		t.Fatalf("want two samples, got %d", len(samples))
	}
	for i, name := range []string{"users.get", "mine"} {
		sample := samples[i]
		if tag(sample, "name") != name || tag(sample, "scenario") != "steady" || tag(sample, "status") != "0" {
			t.Errorf("want name %s, got tags %v", name, sample.Tags.Map())
		}
		if sample.Metadata["due_unix_ns"] != "17" {
			t.Errorf("want the VU's metadata, got %v", sample.Metadata)
		}
	}
}

func TestMisuseThrows(t *testing.T) {
	vu := newVU(t, jsonClient+`
		const binary = new socket.Client({codec: 'protobuf'});
		const partial = new socket.Client({codec: 'protobuf'});
		partial.`+load)
	address := answering(t, func(frame.Request) frame.Reply { return frame.Reply{} })
	for _, test := range [][2]string{
		{`new socket.Client({codec: 'xml'})`, "codec must be"},
		{`new socket.Client({timeout: 'soon'})`, "timeout must be"},
		{`new socket.Client({tiemout: '1s'})`, "unknown setting"},
		{`new socket.Client().call('users.get')`, "client.connect"},
		{`client.connect('` + address + `'); client.call('')`, "method must have"},
		{`client.call('users.get', 7)`, "body must be"},
		{`client.call('users.get', {}, {timeout: 1})`, "unknown parameter"},
		{`binary.connect('` + address + `'); binary.call('users.get', {})`, "client.call: protobuf needs its messages"},
		{`partial.connect('` + address + `'); partial.call('echo.echo', {})`, "no gRPC method"},
		{`partial.call('users.get', {identity: 7})`, "does not fit GetUserRequest"},
		{`client.` + load, "init context"},
	} {
		if got := vu.Throws(test[0]); !strings.Contains(got, test[1]) {
			t.Errorf("%s: want %q in %q", test[0], test[1], got)
		}
	}
	if samples := vu.measured(); len(samples) != 0 {
		t.Errorf("misuse must not be measured, got %v", samples)
	}
}

func TestAStoppedTestEndsAWaitingCallUncounted(t *testing.T) {
	address := server(t, func(connection net.Conn) { _, _ = io.Copy(io.Discard, connection) })
	vu := newVU(t, `const client = new socket.Client({timeout: '1m'});`)
	vu.Run(fmt.Sprintf(`client.connect('%s')`, address))
	time.AfterFunc(50*time.Millisecond, vu.CancelContext)
	start := time.Now()
	vu.Run(`client.call('users.get', {id: 1})`)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the call took %s", took)
	}
	if samples := vu.measured(); len(samples) != 0 {
		t.Errorf("want no sample, got %v", samples)
	}
}

func tag(sample metrics.Sample, name string) string {
	value, _ := sample.Tags.Get(name)
	return value
}

func lookAtConnectionsIdleFor(t *testing.T, duration, takes time.Duration) {
	t.Helper()
	wasUnchecked, tookBefore := idleUnchecked, lookTakes
	t.Cleanup(func() { idleUnchecked, lookTakes = wasUnchecked, tookBefore })
	idleUnchecked, lookTakes = duration, takes
}
