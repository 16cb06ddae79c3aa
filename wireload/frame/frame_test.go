package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestAnyRequestIsReadBackAsItWasWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := Request{
			ID:     random.Uint32(),
			Method: strings.Repeat("m", 1+random.IntN(255)),
			Body:   randomBytes(random, 300),
		}
		encoded, err := AppendRequest(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := ReadPayload(iotest.OneByteReader(bytes.NewReader(encoded)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRequest(payload)
		if err != nil || got.ID != want.ID || got.Method != want.Method || !bytes.Equal(got.Body, want.Body) {
			t.Fatalf("want %+v, got %+v, error %v", want, got, err)
		}
	}
}

func TestALengthBeyondTheLimitIsRefusedBeforeAnythingIsAllocated(t *testing.T) {
	header := binary.BigEndian.AppendUint32(nil, PayloadBytesMax+1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadPayload(bytes.NewReader(header))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrTooLong) {
		t.Fatalf("want %v, got %v", ErrTooLong, err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > PayloadBytesMax/2 {
		t.Errorf("want a few bytes, got %d", taken)
	}
}

// FuzzPayload has what the parsers accept written back as it was.
func FuzzPayload(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 'A', 'B'})
	f.Add([]byte{0, 0, 0, 1, 3, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, payload []byte) {
		if request, err := ParseRequest(payload); err == nil {
			encoded, err := AppendRequest(nil, request)
			if err != nil || !bytes.Equal(encoded[lengthBytes:], payload) {
				t.Fatalf("%x became %x, error %v", payload, encoded, err)
			}
		}
		if reply, err := ParseReply(payload); err == nil {
			encoded, err := AppendReply(nil, reply)
			if err != nil || !bytes.Equal(encoded[lengthBytes:], payload) || !utf8.ValidString(reply.Message) {
				t.Fatalf("%x became %x, error %v", payload, encoded, err)
			}
		}
	})
}

func randomBytes(random *rand.Rand, below int) []byte {
	out := make([]byte, random.IntN(below))
	for i := range out {
		out[i] = byte(random.UintN(256))
	}
	return out
}
