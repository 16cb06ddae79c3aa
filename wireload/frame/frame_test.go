package frame_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
	"unicode/utf8"

	"wirebench.dev/wireload/frame"
	"wirebench.dev/wireload/transport/transporttest"
)

func TestALengthBeyondTheLimitIsRefusedBeforeAnythingIsAllocated(t *testing.T) {
	header := binary.BigEndian.AppendUint32(nil, frame.PayloadBytesMax+1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := frame.ReadPayload(bytes.NewReader(header), nil)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, frame.ErrTooLong) {
		t.Fatalf("want %v, got %v", frame.ErrTooLong, err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > frame.PayloadBytesMax/2 {
		t.Errorf("want a few bytes, got %d", taken)
	}
}

// FuzzPayload has what the parsers accept written back as it was.
func FuzzPayload(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 'A', 'B'})
	f.Add([]byte{0, 0, 0, 1, 3, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, payload []byte) {
		if reply, err := frame.ParseReply(payload); err == nil {
			encoded := transporttest.AppendReply(nil, reply)
			if !bytes.Equal(encoded[4:], payload) || !utf8.ValidString(reply.Message) {
				t.Fatalf("%x became %x", payload, encoded)
			}
		}
	})
}
