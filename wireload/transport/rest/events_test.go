package rest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/transport"
)

func TestEventsAreReadHoweverTheyArrive(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	text := ": welcome\n\nid: 1\ndata: {\"id\": 1}\n\n" + // A comment, and an event with an id.
		"data:one\r\ndata: two\r\n\r\n" + // Two lines of data, with the other end of lines.
		"event: nothing\n\n" + // No data: no event.
		"unknown: x\ndata: " + long + "\n\n" +
		"event: end\ndata: {}\n\n"
	for _, partBytes := range []int{1, 7, len(text)} {
		e, got := events{end: "end"}, []string{}
		e.begin()
		for part := range slices.Chunk([]byte(text), partBytes) {
			err := e.take(part, func(item []byte) bool {
				got = append(got, string(item))
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		reply, err := e.outcome()
		if err != nil || reply.Code != histogram.OK || !slices.Equal(got, []string{`{"id": 1}`, "one\ntwo", long}) {
			t.Errorf("%d bytes at once: got %d items, %v", partBytes, len(got), err)
		}
	}
}

func TestAStreamEndsWithItsEventOrWithItsBody(t *testing.T) {
	line := "data: " + strings.Repeat("x", 1<<10) + "\n"
	for _, each := range []struct {
		text, end, items string
		code             histogram.Code
		class            transport.Class
	}{
		{"data: 1\n\ndata: 2\n\n", "", "12", histogram.OK, ""},
		{"", "", "", histogram.OK, ""},
		{"data: 1\n\nevent: done\ndata: 2\n\n", "done", "1", histogram.OK, ""},
		{"data: 1\n\n", "done", "1", "", transport.CutShort},
		{"data: 1\n\nevent: end\ndata: 2\n\n", "done", "1", "", transport.CutShort},
		{"data: 1\n\ndata: 2\n", "", "1", "", transport.CutShort},
		{"id: 1", "", "", "", transport.CutShort},
		{"data: 1\n\nevent: error\ndata: {\"message\": \"why\"}\n\n", "done", "1", histogram.Internal, ""},
		{"event: error\ndata: no JSON\n\n", "", "", histogram.Internal, ""},
		{strings.Repeat(line, 2<<10), "", "", "", transport.Garbage},
		{"data: " + strings.Repeat("x", 2<<20), "", "", "", transport.Garbage},
	} {
		e, items := events{end: each.end}, ""
		e.begin()
		var reply transport.Reply
		err := e.take([]byte(each.text), func(item []byte) bool {
			items += string(item)
			return true
		})
		if err == nil {
			reply, err = e.outcome()
		}
		failure := transport.AsFailure(err)
		if items != each.items || reply.Code != each.code || (failure == nil) != (each.class == "") || failure != nil && failure.Class != each.class {
			t.Errorf("%.40q until %q: got %q, %+v, %v", each.text, each.end, items, reply, err)
		}
	}
	e := events{}
	if err := e.take([]byte("data: 1\n\n"), func([]byte) bool { return false }); !errors.Is(err, transport.ErrStopped) {
		t.Errorf("got %v", err)
	}
}
