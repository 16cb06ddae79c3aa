package frame_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"wirebench.dev/wireload/frame"
	"wirebench.dev/wireload/transport/transporttest"
)

const vectorsFile = "../../proto/vectors/socket.json"

type vectors struct {
	Prefaces map[string]string `json:"prefaces"`
	Requests []struct {
		Name    string `json:"name"`
		Hex     string `json:"hex"`
		ID      uint32 `json:"id"`
		Method  string `json:"method"`
		BodyHex string `json:"body_hex"`
	} `json:"requests"`
	Replies []struct {
		Name    string `json:"name"`
		Hex     string `json:"hex"`
		ID      uint32 `json:"id"`
		Status  uint8  `json:"status"`
		Flags   uint8  `json:"flags"`
		Message string `json:"message"`
		BodyHex string `json:"body_hex"`
	} `json:"replies"`
	MalformedReplies []struct {
		Name string `json:"name"`
		Hex  string `json:"hex"`
	} `json:"malformed_replies"`
}

func TestRequestsAreThoseOfTheVectors(t *testing.T) {
	for _, vector := range loadVectors(t).Requests {
		t.Run(vector.Name, func(t *testing.T) {
			whole := unhex(t, vector.Hex)
			sent := frame.Request{ID: vector.ID, Method: vector.Method, Body: unhex(t, vector.BodyHex)}
			if encoded, err := frame.AppendRequest(nil, sent); err != nil || !bytes.Equal(encoded, whole) {
				t.Errorf("want %x, got %x, error %v", whole, encoded, err)
			}
		})
	}
}

func TestReplyVectorsHoldBothWays(t *testing.T) {
	for _, vector := range loadVectors(t).Replies {
		t.Run(vector.Name, func(t *testing.T) {
			whole := unhex(t, vector.Hex)
			payload, err := frame.ReadPayload(bytes.NewReader(whole), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := frame.ParseReply(payload)
			if err != nil {
				t.Fatal(err)
			}
			want := frame.Reply{
				ID: vector.ID, Status: vector.Status, Flags: vector.Flags, Message: vector.Message, Body: unhex(t, vector.BodyHex),
			}
			if got.ID != want.ID || got.Status != want.Status || got.Flags != want.Flags ||
				got.Message != want.Message || !bytes.Equal(got.Body, want.Body) {
				t.Errorf("want %+v, got %+v", want, got)
			}
			if encoded := transporttest.AppendReply(nil, want); !bytes.Equal(encoded, whole) {
				t.Errorf("want %x, got %x", whole, encoded)
			}
		})
	}
}

func TestMalformedRepliesAreRejected(t *testing.T) {
	for _, vector := range loadVectors(t).MalformedReplies {
		payload, err := frame.ReadPayload(bytes.NewReader(unhex(t, vector.Hex)), nil)
		if err == nil {
			_, err = frame.ParseReply(payload)
		}
		if err == nil {
			t.Errorf("%s is taken for a reply", vector.Name)
		}
	}
}

func TestPrefacesAreThoseOfTheVectors(t *testing.T) {
	prefaces := loadVectors(t).Prefaces
	if got := string(unhex(t, prefaces["json"])); got != frame.PrefaceJSON {
		t.Errorf("want %q, got %q", frame.PrefaceJSON, got)
	}
	if got := string(unhex(t, prefaces["protobuf"])); got != frame.PrefaceProtobuf {
		t.Errorf("want %q, got %q", frame.PrefaceProtobuf, got)
	}
}

func loadVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var loaded vectors
	if err := json.Unmarshal(text, &loaded); err != nil {
		t.Fatal(err)
	}
	if len(loaded.Requests) == 0 || len(loaded.Replies) == 0 {
		t.Fatal("the vectors are empty")
	}
	return loaded
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	decoded, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}
