package rest

import (
	"errors"
	"io"
	"net"
	"net/http"
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
	client := NewH2C("service:1")
	client.Open(transporttest.Dial(t, func(c net.Conn) { new(http2.Server).ServeConn(c, &http2.ServeConnOpts{Handler: handler}) }))
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
		if err != nil || r.ProtoMajor != 2 || r.Host != "service:1" || r.Header.Get("Accept") != "*/*" || len(r.Header.Get("Long")) != 40_000 || r.ContentLength != int64(len(body)) {
			t.Errorf("unexpected request: %v, %v", r, err)
		}
		if kind := r.Header.Get("Content-Type"); kind != "a/b" {
			t.Errorf("content type %q", kind)
		}
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	})
	long := strings.Repeat("l", 40_000) // Its header block takes several frames.
	for _, each := range []struct{ method, path, body string }{
		{"GET", "/a?b=c", ""}, {"POST", "/a", "{}"}, {"POST", "/a", ""}, {"PUT", "/" + strings.Repeat("x", 300), strings.Repeat("y", 200_000)}, {"GET", "/a", ""},
	} {
		asked := request.Request{Method: each.method, Path: []byte(each.path), Headers: headers(t, "Content-Type", "a/b", "Accept", "*/*", "Long", long), Body: []byte(each.body)}
		reply, err := callH2C(t, client, asked, nil)
		want := each.method + " " + each.path + " " + each.body
		if err != nil || reply.Code != histogram.OK || reply.Status != 200 || string(reply.Body) != want || reply.Close {
			t.Fatalf("%s %.9s: got %d, %d bytes, %v", each.method, each.path, reply.Status, len(reply.Body), err)
		}
	}
}

func TestAnH2CStreamIsCutShortByAReset(t *testing.T) {
	items := []string{"one", strings.Repeat("z", 50_000)}
	isCut := false
	client := connectH2C(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, "data: "+strings.Join(items, "\n\ndata: ")+"\n\n")
		if isCut {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	for _, isCut = range []bool{false, true} {
		var got []string
		_, err := callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")}, func(item []byte) bool {
			got = append(got, string(item))
			return true
		})
		failure := transport.AsFailure(err)
		if !slices.Equal(got, items) || isCut != (failure != nil) || isCut && failure.Class != transport.Rejected {
			t.Errorf("got %d items, %v", len(got), err)
		}
	}
}

func TestH2CFailures(t *testing.T) {
	frames := transporttest.Frames
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
		"HTTP/1.1":       {transport.Garbage, false, []byte("HTTP/1.1 400 Bad Request\r\n\r\n")},
		"no status":      {transport.Garbage, false, frames(func(f *http2.Framer) { _ = f.WriteData(1, true, []byte("x")) })},
	} {
		var failure *transport.Failure
		client := NewH2C("service:1")
		client.Open(transporttest.Connect(each.reply))
		_, err := callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")}, nil)
		if !errors.As(err, &failure) || failure.Class != each.class || failure.Unprocessed != each.again {
			t.Errorf("%s: got %+v", name, failure)
		}
	}
	client := NewH2C("service:1")
	client.Open(transporttest.Connect(frames(func(f *http2.Framer) { _ = f.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("too many")) })))
	_, err := callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")}, nil)
	if want := "the server closed the connection: ENHANCE_YOUR_CALM too many"; err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

func TestPrioritiesInHeadersAreSkipped(t *testing.T) {
	client := NewH2C("service:1")
	client.Open(transporttest.Connect(transporttest.Frames(func(f *http2.Framer) {
		_ = f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true, PadLength: 3, Priority: http2.PriorityParam{Weight: 200},
		})
	})))
	reply, err := callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")}, nil)
	if err != nil || reply.Status != 200 {
		t.Errorf("got %+v, %v", reply, err)
	}
}

// TestAnH2CBodyKeepsToTheWindows has a server that takes room back and gives it in pieces: RFC 9113, 6.9.2.
func TestAnH2CBodyKeepsToTheWindows(t *testing.T) {
	const window, body = 65_535, 70_000
	said := transporttest.Frames(func(server *http2.Framer) {
		_ = server.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		_, _ = server.WriteWindowUpdate(0, 1<<31-1), server.WriteWindowUpdate(0, 1<<31-1)
		_, _ = server.WriteWindowUpdate(3, 1<<20), server.WriteWindowUpdate(1, window-10)
		_, _ = server.WriteWindowUpdate(1, 5), server.WriteWindowUpdate(1, 1<<20)
		_ = server.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true})
	})
	client, connection := NewH2C("service:1"), transporttest.Connect(said)
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
