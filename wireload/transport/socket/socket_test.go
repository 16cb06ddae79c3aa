package socket

import (
	"errors"
	"slices"
	"testing"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

func call(t testing.TB, client *Client, item func([]byte) bool) (transport.Reply, error) {
	t.Helper()
	if err := client.Prepare(&request.Request{Path: []byte("users.get"), Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	return client.Call(item)
}

func replies(each ...transporttest.Reply) []byte {
	var out []byte
	for _, reply := range each {
		out = transporttest.AppendReply(out, reply)
	}
	return out
}

func TestIDsCountAndThePrefaceGoesFirst(t *testing.T) {
	client := New(true)
	connection := transporttest.Connect(replies(transporttest.Reply{ID: 1, Body: []byte("a")}, transporttest.Reply{ID: 2, Body: []byte("b")}))
	client.Open(connection)
	for _, want := range []string{"a", "b"} {
		if reply, err := call(t, client, nil); err != nil || string(reply.Body) != want || reply.Code != histogram.OK {
			t.Fatalf("want %s, got %+v, %v", want, reply, err)
		}
	}
	const want = "WB1P" + "\x00\x00\x00\x10\x00\x00\x00\x01\tusers.get{}" + "\x00\x00\x00\x10\x00\x00\x00\x02\tusers.get{}"
	if got := connection.Written.String(); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestAStreamEndsWithItsMark(t *testing.T) {
	item := func(id uint32, body string) transporttest.Reply {
		return transporttest.Reply{ID: id, Flags: transporttest.FlagMore, Body: []byte(body)}
	}
	client := New(false)
	client.Open(transporttest.Connect(replies(item(1, "a"), item(1, "b"), transporttest.Reply{ID: 1}, item(2, "c"))))
	var got []string
	take := func(item []byte) bool {
		got = append(got, string(item))
		return true
	}
	if reply, err := call(t, client, take); err != nil || reply.Code != histogram.OK || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v, %+v, %v", got, reply, err)
	}
	var failure *transport.Failure
	if _, err := call(t, client, take); !errors.As(err, &failure) || failure.Class != transport.CutShort || failure.Unprocessed {
		t.Errorf("want a stream without end to be cut short, got %v", err)
	}
}

func TestAStatusIsTheOutcome(t *testing.T) {
	client := New(false)
	client.Open(transporttest.Connect(replies(transporttest.Reply{ID: 1, Status: 5, Message: "none"}, transporttest.Reply{ID: 2, Status: 8, Message: "too long"})))
	if reply, err := call(t, client, nil); err != nil || reply.Code != histogram.NotFound || reply.Message != "none" || reply.Close {
		t.Errorf("got %+v, %v", reply, err)
	}
	if reply, err := call(t, client, nil); err != nil || reply.Code != histogram.ResourceExhausted || !reply.Close {
		t.Errorf("want the server to close after that, got %+v, %v", reply, err)
	}
}
