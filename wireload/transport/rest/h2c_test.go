package rest

import (
	"errors"
	"io"
	"net"
	"net/http"
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
	server := http2.Server{MaxReadFrameSize: 16 << 10}
	client.Open(transporttest.Dial(t, func(c net.Conn) { server.ServeConn(c, &http2.ServeConnOpts{Handler: handler}) }))
	return client
}

func callH2C(t testing.TB, client *H2C, r request.Request) (transport.Reply, error) {
	t.Helper()
	if err := client.Prepare(&r); err != nil {
		t.Fatal(err)
	}
	return client.Call(nil)
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
		reply, err := callH2C(t, client, asked)
		want := each.method + " " + each.path + " " + each.body
		if err != nil || reply.Code != histogram.OK || reply.Status != 200 || string(reply.Body) != want || reply.Close {
			t.Fatalf("%s %.9s: got %d, %d bytes, %v", each.method, each.path, reply.Status, len(reply.Body), err)
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
		_, err := callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")})
		if !errors.As(err, &failure) || failure.Class != each.class || failure.Unprocessed != each.again {
			t.Errorf("%s: got %+v", name, failure)
		}
	}
	client := NewH2C("service:1")
	client.Open(transporttest.Connect(frames(func(f *http2.Framer) { _ = f.WriteGoAway(1, http2.ErrCodeEnhanceYourCalm, []byte("too many")) })))
	_, err := callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")})
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
	reply, err := callH2C(t, client, request.Request{Method: "GET", Path: []byte("/")})
	if err != nil || reply.Status != 200 {
		t.Errorf("got %+v, %v", reply, err)
	}
}
