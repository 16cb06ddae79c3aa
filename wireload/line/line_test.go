package line

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLinesAreReadHoweverTheyArrive(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	text := "one\r\n\ntwo\r \n" + long + "\nhalf"
	for name, source := range map[string]io.Reader{
		"at once":      strings.NewReader(text),
		"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
	} {
		r := NewReader(4 << 10)
		r.Reset(source)
		for _, want := range []string{"one", "", "two\r ", long} {
			if got, err := r.Next(); err != nil || string(got) != want {
				t.Fatalf("%s: want %.20q, got %.20q, %v", name, want, got, err)
			}
		}
		if rest, err := r.Next(); !errors.Is(err, io.EOF) || string(rest) != "half" {
			t.Errorf("%s: got %q, %v", name, rest, err)
		}
	}
}

func TestALineHasOneMiBAtMost(t *testing.T) {
	for more, want := range map[int]error{0: nil, 1: ErrTooLong, BytesMax: ErrTooLong} {
		r := NewReader(4 << 10)
		r.Reset(strings.NewReader(strings.Repeat("x", BytesMax-1+more) + "\n"))
		if _, err := r.Next(); !errors.Is(err, want) {
			t.Errorf("%d more: want %v, got %v", more, want, err)
		}
	}
}

// FuzzNext compares lines with those of bufio.Scanner.
func FuzzNext(f *testing.F) {
	f.Add("a\r\n\nb", 3)
	f.Add(strings.Repeat("x", 100)+"\n\r\n", 16)
	f.Fuzz(func(t *testing.T, text string, bufferBytes int) {
		r := NewReader(bufferBytes % 1000)
		r.Reset(strings.NewReader(text))
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, BytesMax)
		for lines.Scan() {
			line, err := r.Next()
			got := string(line)
			if errors.Is(err, io.EOF) { // What has no end is left as it is.
				got, err = strings.TrimSuffix(got, "\r"), nil
			}
			if err != nil || got != lines.Text() {
				t.Fatalf("want %q, got %q, %v", lines.Text(), got, err)
			}
		}
		if _, err := r.Next(); lines.Err() == nil && !errors.Is(err, io.EOF) {
			t.Errorf("want the end, got %v", err)
		}
	})
}
