package socket

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

type vectors struct {
	Requests []struct {
		Name   string
		Frame  hexBytes `json:"hex"`
		ID     uint32
		Method string
		Body   hexBytes `json:"body_hex"`
	}
	Replies []struct {
		Name    string
		Frame   hexBytes `json:"hex"`
		ID      uint32
		Status  byte
		Message string
		Body    hexBytes `json:"body_hex"`
	}
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "proto", "vectors", "socket.json"))
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil || len(v.Requests) == 0 || len(v.Replies) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	return v
}

// The requests of the protocol's vectors are read as they are described, from a small buffer as from a large one.
func TestRequestVectors(t *testing.T) {
	for _, each := range readVectors(t).Requests {
		for _, size := range []int{16, 4096} {
			reader := bufio.NewReaderSize(bytes.NewReader(each.Frame), size)
			got, err := readRequest(reader)
			if err != nil || got.id != each.ID || got.method != each.Method || !bytes.Equal(got.body, each.Body) {
				t.Errorf("%s: %v, %v", each.Name, got, err)
			}
		}
	}
}

// The replies of the protocol's vectors are written byte by byte.
func TestReplyVectors(t *testing.T) {
	for _, each := range readVectors(t).Replies {
		var out bytes.Buffer
		writer := bufio.NewWriter(&out)
		var err error
		if each.Status != 0 {
			err = status.Error(codes.Code(each.Status), each.Message)
		}
		if err := writeReply(writer, each.ID, each.Message, each.Body, err); err != nil {
			t.Fatal(err)
		}
		_ = writer.Flush()
		if !bytes.Equal(out.Bytes(), each.Frame) {
			t.Errorf("%s: %x", each.Name, out.Bytes())
		}
	}
}
