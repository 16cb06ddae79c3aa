package socket

import (
	"errors"
	"strings"
	"testing"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// ask sends a line to a service that has said all in advance, and returns what the client has written too.
func ask(t testing.TB, client *LineClient, said, line string) (reply transport.Reply, written string, err error) {
	t.Helper()
	connection := transporttest.Connect([]byte(said))
	if err := client.Prepare(&request.Request{Body: []byte(line)}); err != nil {
		return transport.Reply{}, "", err
	}
	client.Open(connection)
	reply, err = client.Call(nil)
	return reply, connection.Written.String(), err
}

func TestALineIsAnsweredByALine(t *testing.T) {
	client := NewLine()
	long := strings.Repeat("x", 100_000)
	for said, want := range map[string]string{"PONG\n": "PONG", "PONG\r\n": "PONG", "\n": "", long + "\n": long} {
		reply, written, err := ask(t, client, said, "PING")
		if err != nil || string(reply.Body) != want || reply.Code != histogram.OK || written != "PING\n" {
			t.Errorf("%.20q: got %.20q, %v, and sent %q", said, reply.Body, err, written)
		}
	}
}

func TestWhatIsNotOneLineIsAFailure(t *testing.T) {
	for said, want := range map[string]transport.Class{
		"": transport.Closed, "half": transport.CutShort, "one\ntwo\n": transport.Garbage, "one\nha": transport.Garbage,
		strings.Repeat("x", 1<<20) + "\n": transport.Garbage,
	} {
		_, _, err := ask(t, NewLine(), said, "PING")
		var failure *transport.Failure
		if !errors.As(err, &failure) || failure.Class != want || failure.Unprocessed {
			t.Errorf("%.20q: want %s, got %v", said, want, err)
		}
	}
}
