package transport

import (
	"bytes"
	"strings"
	"testing"
)

func TestMemoryIsTakenAsAReplyComes(t *testing.T) {
	var buffer Buffer
	come := bytes.NewReader(make([]byte, 100_000))
	for len(buffer) < 100_000 {
		if part, err := buffer.Read(come, ReplyBytesMax-len(buffer)); err != nil || len(part) == 0 {
			t.Fatalf("got %d bytes, %v", len(part), err)
		}
	}
	if cap(buffer) > 300_000 {
		t.Errorf("100,000 of %d bytes took %d", ReplyBytesMax, cap(buffer))
	}
}

func TestAReplyIsBoundedAndSoAreAllTogether(t *testing.T) {
	buffer := make(Buffer, ReplyBytesMax-10, ReplyBytesMax)
	if err := buffer.Append(make([]byte, 11)); err == nil || !strings.Contains(err.Error(), "the reply is longer than") {
		t.Errorf("got %v", err)
	}
	before := kept.Load()
	defer kept.Store(before)
	kept.Store(repliesBytesMax)
	buffer = nil
	if err := buffer.Append([]byte("x")); err == nil || !strings.Contains(err.Error(), "the replies of all users") || cap(buffer) > 0 {
		t.Errorf("got %v, and %d bytes kept", err, cap(buffer))
	}
	if kept.Load() != repliesBytesMax {
		t.Errorf("want its memory free again, got %d", kept.Load())
	}
}
