package event

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"wirebench.dev/wireload/line"
)

func TestEventsAreReadHoweverTheyArrive(t *testing.T) {
	text := ": welcome\n\nid: 1\ndata: {\"id\": 1}\n\n" + // A comment, and an event with an id.
		"data:one\r\ndata: two\r\n\r\n" + // Two lines of data, with the other end of lines.
		"event: nothing\n\n" + // No data: no event.
		"unknown: x\ndata: " + strings.Repeat("x", 100_000) + "\n\n" + // Longer than the buffer.
		"event: end\ndata: {}\n\n"
	want := [][2]string{
		{"message", `{"id": 1}`}, {"message", "one\ntwo"}, {"message", strings.Repeat("x", 100_000)}, {"end", "{}"},
	}
	for name, reader := range map[string]io.Reader{
		"at once":      strings.NewReader(text),
		"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
	} {
		read := NewReader()
		read.Reset(reader)
		for _, expected := range want {
			kind, data, err := read.Next()
			if err != nil || kind != expected[0] || string(data) != expected[1] {
				t.Fatalf("%s: want %.40q, got %q %.40q %v", name, expected, kind, data, err)
			}
		}
		if _, _, err := read.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: want the end, got %v", name, err)
		}
	}
}

func TestAnEventThatIsNotWholeIsNone(t *testing.T) {
	for _, text := range []string{"data: {}", "data: {}\n", "id: 1"} {
		read := NewReader()
		read.Reset(strings.NewReader(text))
		if _, _, err := read.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestALineWithoutEndIsRefused(t *testing.T) {
	read := NewReader()
	read.Reset(strings.NewReader("data: " + strings.Repeat("x", 2<<20)))
	if _, _, err := read.Next(); !errors.Is(err, line.ErrTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestAnEventWithoutEndIsRejected(t *testing.T) {
	read := NewReader()
	read.Reset(strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<10)+"\n", 2<<10)))
	if _, _, err := read.Next(); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v", err)
	}
}

func TestAStreamEndsWithItsEventOrWithItsSource(t *testing.T) {
	stop := errors.New("stop")
	for _, each := range []struct {
		text, end, items string
		want             error
	}{
		{"data: 1\n\ndata: 2\n\n", "", "12", nil},
		{"", "", "", nil},
		{"data: 1\n\nevent: done\ndata: 2\n\n", "done", "1", nil},
		{"data: 1\n\n", "done", "1", io.ErrUnexpectedEOF},
		{"data: 1\n\nevent: end\ndata: 2\n\n", "done", "1", io.ErrUnexpectedEOF},
		{"data: 1\n\ndata: 2\n", "", "1", io.ErrUnexpectedEOF},
		{"data: 1\n\nevent: error\ndata: {\"message\": \"why\"}\n\n", "done", "1", Failure("why")},
		{"event: error\ndata: no JSON\n\n", "", "", Failure("")},
		{"data: 1\n\ndata: stop\n\n", "", "1", stop},
	} {
		read, items := NewReader(), ""
		read.Reset(strings.NewReader(each.text))
		err := read.ReadItems(each.end, func(item []byte) error {
			if string(item) == "stop" {
				return stop
			}
			items += string(item)
			return nil
		})
		if !errors.Is(err, each.want) || items != each.items {
			t.Errorf("%q until %q: got %q, %v", each.text, each.end, items, err)
		}
	}
}
