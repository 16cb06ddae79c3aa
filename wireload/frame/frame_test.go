package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
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

func TestAnyReplyIsReadBackAsItWasWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		want := Reply{
			ID:      random.Uint32(),
			Status:  uint8(random.IntN(256)),
			Flags:   uint8(random.IntN(2)),
			Message: strings.Repeat("ü", random.IntN(50)),
			Body:    randomBytes(random, 300),
		}
		encoded, err := AppendReply(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseReply(encoded[lengthBytes:])
		if err != nil || got.ID != want.ID || got.Status != want.Status || got.Flags != want.Flags ||
			got.Message != want.Message || !bytes.Equal(got.Body, want.Body) {
			t.Fatalf("want %+v, got %+v, error %v", want, got, err)
		}
	}
}

func TestFramesFollowEachOtherInOneBuffer(t *testing.T) {
	var buffer []byte
	for id := range uint32(3) {
		var err error
		buffer, err = AppendRequest(buffer, Request{ID: id, Method: "users.get"})
		if err != nil {
			t.Fatal(err)
		}
	}
	reader := bytes.NewReader(buffer)
	for id := range uint32(3) {
		payload, err := ReadPayload(reader)
		if err != nil {
			t.Fatal(err)
		}
		request, err := ParseRequest(payload)
		if err != nil || request.ID != id {
			t.Fatalf("want id %d, got %+v, error %v", id, request, err)
		}
	}
	if _, err := ReadPayload(reader); !errors.Is(err, io.EOF) {
		t.Fatalf("want EOF between frames, got %v", err)
	}
}

func TestEveryCutOfAFrameIsAnUnexpectedEnd(t *testing.T) {
	whole, err := AppendReply(nil, Reply{ID: 1, Message: "ok", Body: []byte("body")})
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(whole); cut++ {
		if _, err := ReadPayload(bytes.NewReader(whole[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: want an unexpected end, got %v", cut, err)
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

func TestWhatDoesNotFitAFieldIsNotWritten(t *testing.T) {
	if _, err := AppendRequest(nil, Request{Method: ""}); !errors.Is(err, ErrMethodLength) {
		t.Errorf("no method: got %v", err)
	}
	if _, err := AppendRequest(nil, Request{Method: strings.Repeat("m", 256)}); !errors.Is(err, ErrMethodLength) {
		t.Errorf("long method: got %v", err)
	}
	if _, err := AppendReply(nil, Reply{Message: strings.Repeat("m", 1<<16)}); !errors.Is(err, ErrMessageLength) {
		t.Errorf("long message: got %v", err)
	}
	if _, err := AppendRequest(nil, Request{Method: "m", Body: make([]byte, PayloadBytesMax)}); !errors.Is(err, ErrTooLong) {
		t.Errorf("long body: got %v", err)
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
