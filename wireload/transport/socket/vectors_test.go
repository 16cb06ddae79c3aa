package socket

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/transporttest"
)

// hexBytes are written in hexadecimal.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// vector is a frame, and what it says.
type vector struct {
	Name    string
	Hex     hexBytes
	ID      uint32
	Method  string
	Status  uint8
	Message string
	Body    hexBytes `json:"body_hex"`
}

func TestFramesAreThoseOfTheVectors(t *testing.T) {
	text, err := os.ReadFile("../../../proto/vectors/socket.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Prefaces          map[string]hexBytes
		Requests, Replies []vector
		MalformedReplies  []vector `json:"malformed_replies"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Requests) == 0 || len(vectors.Replies) == 0 || len(vectors.MalformedReplies) == 0 {
		t.Fatal("vectors are missing")
	}
	if json, protobuf := vectors.Prefaces["json"], vectors.Prefaces["protobuf"]; string(json) != prefaceJSON || string(protobuf) != prefaceProtobuf {
		t.Errorf("got the prefaces %q and %q", prefaceJSON, prefaceProtobuf)
	}
	client := New(false)
	for _, each := range vectors.Requests {
		if err := client.Prepare(&request.Request{Path: []byte(each.Method), Body: each.Body}); err != nil {
			t.Fatal(err)
		}
		connection := transporttest.Connect(nil)
		client.Open(connection)
		client.id = each.ID - 1
		_, _ = client.Call(nil)
		if got := bytes.TrimPrefix(connection.Written.Bytes(), []byte(prefaceJSON)); !bytes.Equal(got, each.Hex) {
			t.Errorf("%s: want %x, got %x", each.Name, each.Hex, got)
		}
	}
	for _, each := range vectors.Replies {
		client.Open(transporttest.Connect(each.Hex))
		client.id = each.ID
		got, err := client.read()
		if err != nil || got.Code != histogram.CodeOfGRPC(int(each.Status)) || got.Message != each.Message ||
			!bytes.Equal(got.Body, each.Body) {
			t.Errorf("%s: got %+v, %v", each.Name, got, err)
		}
		encoded := transporttest.AppendReply(nil, transporttest.Reply{ID: each.ID, Status: each.Status, Message: each.Message, Body: each.Body})
		if !bytes.Equal(encoded, each.Hex) {
			t.Errorf("%s: want %x, got %x", each.Name, each.Hex, encoded)
		}
	}
	client.Open(transporttest.Connect(transporttest.AppendReply(nil, transporttest.Reply{ID: 1, Status: 8, Message: "too long"})))
	client.id = 1
	if got, err := client.read(); err != nil || got.Code != histogram.ResourceExhausted || !got.Close {
		t.Errorf("want the server to close after that, got %+v, %v", got, err)
	}
	tooLong := vector{Name: "too long", Hex: hexBytes{4, 0, 0, 1}}
	for _, each := range append(vectors.MalformedReplies, tooLong) {
		client.Open(transporttest.Connect(each.Hex))
		client.id = 1
		if _, err := client.read(); transport.AsFailure(err) == nil {
			t.Errorf("%s: want garbage, got %v", each.Name, err)
		}
	}
}
