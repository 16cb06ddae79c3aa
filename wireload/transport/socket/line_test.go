package socket

import (
	"strings"
	"testing"

	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

func TestALineIsAnsweredByOneLine(t *testing.T) {
	client := New(false)
	long := strings.Repeat("x", 100_000)
	for said, want := range map[string]string{
		"PONG\r\n": "PONG", "\n": "", long + "\n": long,
		"one\ntwo\n": "garbage", "one\nha": "garbage", strings.Repeat("x", 1<<20) + "\n": "garbage",
	} {
		connection := transporttest.Connect([]byte(said))
		client.Open(connection)
		if err := client.Prepare(&request.Request{Body: []byte("PING")}); err != nil {
			t.Fatal(err)
		}
		reply, err := client.Call(nil)
		got := string(reply.Body)
		if failure := transport.AsFailure(err); failure != nil {
			got = string(failure.Class)
		}
		if got != want || connection.Written.String() != "PING\n" {
			t.Errorf("%.20q: want %.20q, got %.20q, %v", said, want, got, err)
		}
	}
	if err := client.Prepare(&request.Request{Body: []byte("a\rb")}); err == nil {
		t.Error("want a line break to be an error")
	}
}
