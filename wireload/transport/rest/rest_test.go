package rest

import (
	"strings"
	"testing"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

func callScripted(t testing.TB, reply string, item func([]byte) bool) (transport.Reply, error) {
	t.Helper()
	client := New("service:1", false)
	client.Open(transporttest.Connect([]byte(reply)))
	if err := client.Prepare(&request.Request{Method: "GET", Path: []byte("/"), Stream: item != nil, End: "end"}); err != nil {
		t.Fatal(err)
	}
	return client.Call(item)
}

func headers(t *testing.T, pairs ...string) (made []request.Header) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		header, err := request.NewHeader("rest", pairs[i], []byte(pairs[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, header)
	}
	return made
}

func TestRequestsAreWhatHTTPWants(t *testing.T) {
	for want, asked := range map[string]request.Request{
		"GET /a?b=c HTTP/1.1\r\nHost: service:1\r\nUser-Agent: wireload\r\nConnection: close\r\nAccept: */*\r\n\r\n": {
			Method: "GET", Path: []byte("/a?b=c"), Headers: headers(t, "Accept", "*/*"),
		},
		"POST /a HTTP/1.1\r\nHost: service:1\r\nUser-Agent: wireload\r\nConnection: close\r\n" +
			"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}": {
			Method: "POST", Path: []byte("/a"), Headers: headers(t, "Content-Type", "application/json"), Body: []byte("{}"),
		},
		"POST /a HTTP/1.1\r\nConnection: close\r\nhost: shop\r\nUSER-AGENT: me\r\nAccept: a/b\r\nX-A: \r\ncontent-type: c/d\r\n" +
			"Content-Length: 2\r\n\r\n{}": {
			Method: "POST", Path: []byte("/a"), Body: []byte("{}"),
			Headers: headers(t, "host", "shop", "USER-AGENT", "me", "Accept", "a/b", "X-A", ""), Varying: headers(t, "content-type", "c/d"),
		},
		"POST /a HTTP/1.1\r\nHost: service:1\r\nUser-Agent: wireload\r\nConnection: close\r\nContent-Length: 0\r\n\r\n": {
			Method: "POST", Path: []byte("/a"),
		},
	} {
		client, connection := New("service:1", true), transporttest.Connect(nil)
		client.Open(connection)
		if err := client.Prepare(&asked); err != nil {
			t.Fatal(err)
		}
		_, _ = client.Call(nil)
		if got := connection.Written.String(); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

func TestRepliesAreReadToTheirEnd(t *testing.T) {
	for name, each := range map[string]struct {
		reply, body string
		code        histogram.Code
		last        bool
	}{
		"HTTP/1.0":  {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", histogram.OK, true},
		"kept 1.0":  {"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi", "hi", histogram.OK, false},
		"twice":     {"HTTP/1.1 200\r\ncontent-length:2\r\nCONTENT-LENGTH: 2\r\n\r\nhi", "hi", histogram.OK, false},
		"64 KiB":    {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 65_000) + "\r\nContent-Length: 2\r\n\r\nhi", "hi", histogram.OK, false},
		"length":    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", histogram.OK, false},
		"chunks":    {"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", "hi", histogram.OK, false},
		"until end": {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi", "hi", histogram.OK, true},
		"hints":     {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", histogram.OK, false},
		"continue":  {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", histogram.OK, false},
		"no body":   {"HTTP/1.1 204 No Content\r\n\r\n", "", histogram.OK, false},
		"status":    {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "", histogram.NotFound, false},
		"closing":   {"HTTP/1.1 503 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "", histogram.Unavailable, true},
	} {
		reply, err := callScripted(t, each.reply, nil)
		if err != nil || string(reply.Body) != each.body || reply.Code != each.code || reply.Close != each.last {
			t.Errorf("%s: got %+v, %v", name, reply, err)
		}
	}
}

func TestWhatIsNoReplyIsAFailure(t *testing.T) {
	const whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	const ok = "HTTP/1.1 200 OK\r\n"
	for reply, message := range map[string]string{
		whole + whole:                                  "the server sent more than its reply",
		ok + "A: " + strings.Repeat("x", 70_000):       "the reply has a line of more than 65536 bytes",
		ok + "no header\r\n\r\n":                       "the reply has a header without a name",
		"no header\r\n\r\n":                            `the reply is not HTTP/1.1: "no header"`,
		"HTTP/1.1 000 No\r\n\r\n":                      `the reply is not HTTP/1.1: "HTTP/1.1 000 No"`,
		"HTTP/1.1 2000 No\r\n\r\n":                     `the reply is not HTTP/1.1: "HTTP/1.1 2000 No"`,
		"HTTP/1.1 103 A\r\n\r\nhi\r\n\r\n":             `the reply is not HTTP/1.1: "hi"`,
		ok + "Content-Length: 3\r\n" + whole[17:]:      "the reply has an invalid Content-Length: ",
		ok + "Content-Length: -2\r\n\r\n":              `the reply has an invalid Content-Length: "-2"`,
		ok + "Transfer-Encoding: gzip\r\n\r\n":         `the reply has an unknown Transfer-Encoding: "gzip"`,
		ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n": "the reply can't be read: ",
		strings.Replace(whole, "\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n", 1): "the reply has both Content-Length and Transfer-Encoding",
	} {
		_, err := callScripted(t, reply, nil)
		if failure := transport.AsFailure(err); failure == nil || failure.Class != transport.Garbage || !strings.HasPrefix(failure.Message, message) {
			t.Errorf("%.60q: want %s, got %v", reply, message, err)
		}
	}
}

const eventsReply = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

func TestRepliesToStreams(t *testing.T) {
	chunks := strings.Replace(eventsReply, "Connection: close", "Transfer-Encoding: chunked", 1)
	sized := strings.Replace(eventsReply, "Connection: close", "Content-Length: 30", 1)
	const one, end = "data: 1\n\n", "event: end\ndata: {}\n\n"
	for text, want := range map[string]struct {
		code    histogram.Code
		message string
		class   transport.Class
	}{
		eventsReply + one + end: {code: histogram.OK},
		sized + one + end:       {code: histogram.OK},
		chunks + "9\r\n" + one + "\r\n15\r\n" + end + "\r\n0\r\n\r\n":             {code: histogram.OK},
		"HTTP/1.1 400 Bad\r\nContent-Length: 17\r\n\r\n{\"message\":\"bad\"}":     {code: histogram.InvalidArgument, message: "bad"},
		"HTTP/1.1 204 No Content\r\n\r\n":                                         {class: transport.Garbage},
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n": {class: transport.Garbage},
	} {
		reply, err := callScripted(t, text, func(item []byte) bool { return string(item) == "1" })
		failure := transport.AsFailure(err)
		if reply.Code != want.code || reply.Message != want.message || (failure != nil) != (want.class != "") || failure != nil && failure.Class != want.class {
			t.Errorf("%q: got %+v, %v", text, reply, err)
		}
	}
}
