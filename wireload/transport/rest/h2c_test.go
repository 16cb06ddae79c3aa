package rest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// connectH2C returns a client of Go's own server.
func connectH2C(t *testing.T, handler http.HandlerFunc) *H2C {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	client := NewH2C("service:1")
	client.Open(connection)
	return client
}

func callH2C(t testing.TB, client *H2C, r request.Request, item func([]byte) bool) (transport.Reply, error) {
	t.Helper()
	if err := client.Prepare(&r); err != nil {
		t.Fatal(err)
	}
	return client.Call(item)
}

func TestH2CRequestsAreWhatTheServerReads(t *testing.T) {
	client := connectH2C(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ProtoMajor != 2 || r.Host != "service:1" || r.Header.Get("Accept") != "*/*" || r.ContentLength != int64(len(body)) {
			t.Errorf("unexpected request: %v, %v", r, err)
		}
		if kind := r.Header.Get("Content-Type"); (kind == "a/b") != (len(body) > 0) {
			t.Errorf("%d bytes of %q", len(body), kind)
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	})
	for _, each := range []struct{ method, path, body string }{
		{"GET", "/a?b=c", ""}, {"POST", "/a", "{}"}, {"POST", "/a", ""}, {"PUT", "/" + strings.Repeat("x", 300), strings.Repeat("y", 200_000)}, {"GET", "/a", ""},
	} {
		asked := request.Request{Method: each.method, Path: []byte(each.path), ContentType: "a/b", Accept: "*/*", Body: []byte(each.body)}
		reply, err := callH2C(t, client, asked, nil)
		want := each.method + " " + each.path + " " + each.body
		if err != nil || reply.Code != histogram.OK || reply.Status != 200 || string(reply.Body) != want || reply.Close {
			t.Fatalf("%s %.9s: got %d, %d bytes, %v", each.method, each.path, reply.Status, len(reply.Body), err)
		}
	}
}

func TestAnH2CStreamEndsWithItsEventOrItsBody(t *testing.T) {
	said, cut := "", false
	client := connectH2C(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, said)
		if cut {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	large := strings.Repeat("z", 50_000)
	for _, each := range []struct {
		items, more, end string
		cut              bool
		class            transport.Class
	}{
		{"one,two," + large, "event: end\ndata: {}\n\n", "end", false, ""},
		{"one", "", "end", false, transport.CutShort},
		{"one", "", "", false, ""},
		{"one", "", "", true, transport.Rejected}, // Go's server resets the stream.
	} {
		var got []string
		said, cut = "data: "+strings.ReplaceAll(each.items, ",", "\n\ndata: ")+"\n\n"+each.more, each.cut
		asked := request.Request{Method: "GET", Path: []byte("/"), End: each.end}
		_, err := callH2C(t, client, asked, func(item []byte) bool {
			got = append(got, string(item))
			return true
		})
		var class transport.Class
		if failure := transport.AsFailure(err); failure != nil {
			class = failure.Class
		}
		if strings.Join(got, ",") != each.items || class != each.class {
			t.Errorf("%.9s until %q: got %d items, %v", each.items, each.end, len(got), err)
		}
	}
}

// callScriptedH2C has a server answer a first request with these bytes and hang up.
func callScriptedH2C(t testing.TB, reply []byte, item func([]byte) bool) (transport.Reply, error) {
	t.Helper()
	client := NewH2C("service:1")
	client.Open(transporttest.Connect(reply))
	return callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")}, item)
}

func TestH2CFailures(t *testing.T) {
	frames := func(write func(*http2.Framer)) []byte {
		var out bytes.Buffer
		write(http2.NewFramer(&out, nil))
		return out.Bytes()
	}
	headers := http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true}
	for name, each := range map[string]struct {
		class transport.Class
		again bool
		reply []byte
	}{
		"refused":        {transport.Rejected, true, frames(func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeRefusedStream) })},
		"reset":          {transport.Rejected, false, frames(func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeCancel) })},
		"above the last": {transport.Closed, true, frames(func(f *http2.Framer) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) })},
		"the last":       {transport.CutShort, false, frames(func(f *http2.Framer) { _ = f.WriteGoAway(1, http2.ErrCodeNo, nil); _ = f.WriteHeaders(headers) })},
		"hung up":        {transport.Closed, false, nil},
		"cut short":      {transport.CutShort, false, frames(func(f *http2.Framer) { _ = f.WriteHeaders(headers) })},
		"HTTP/1.1":       {transport.Garbage, false, []byte("HTTP/1.1 400 Bad Request\r\n\r\n")},
		"no status":      {transport.Garbage, false, frames(func(f *http2.Framer) { _ = f.WriteData(1, true, []byte("x")) })},
	} {
		var failure *transport.Failure
		if _, err := callScriptedH2C(t, each.reply, nil); !errors.As(err, &failure) || failure.Class != each.class || failure.Unprocessed != each.again {
			t.Errorf("%s: got %+v", name, failure)
		}
	}
}

// TestAnH2CBodyKeepsToTheWindows has a server that takes room back and gives it in pieces: RFC 9113, 6.9.2.
func TestAnH2CBodyKeepsToTheWindows(t *testing.T) {
	const window, body = 65_535, 70_000
	var said bytes.Buffer
	server := http2.NewFramer(&said, nil)
	for _, err := range []error{
		server.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1<<32 - 1}),
		server.WriteWindowUpdate(0, 1<<31-1), server.WriteWindowUpdate(0, 1<<31-1), server.WriteWindowUpdate(3, 1<<20),
		server.WriteWindowUpdate(1, window-10), server.WriteWindowUpdate(1, 5), server.WriteWindowUpdate(1, 1<<20),
		server.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	client, connection := NewH2C("service:1"), transporttest.Connect(said.Bytes())
	client.Open(connection)
	reply, err := callH2C(t, client, request.Request{Method: "POST", Path: []byte("/"), Body: make([]byte, body)}, nil)
	if err != nil || reply.Code != histogram.OK || reply.Close {
		t.Fatalf("got %+v, %v", reply, err)
	}
	connection.Written.Next(len(http2.ClientPreface))
	written := http2.NewFramer(nil, &connection.Written)
	var sent []int
	for {
		frame, err := written.ReadFrame()
		if err != nil {
			break
		}
		if data, ok := frame.(*http2.DataFrame); ok {
			sent = append(sent, int(data.Length))
			if last := len(sent) == 6; data.StreamEnded() != last {
				t.Errorf("the stream ends with part %d", len(sent))
			}
		}
	}
	if want := []int{16384, 16384, 16384, 16383, 5, body - window - 5}; !slices.Equal(sent, want) {
		t.Errorf("want parts of %v bytes, got %v", want, sent)
	}
}
