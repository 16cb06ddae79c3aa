package grpc

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// TestBlocksSayWhatTheyShould sends paths in any order, more than the table has room for at last, and limits the table.
func TestBlocksSayWhatTheyShould(t *testing.T) {
	for _, limit := range []uint32{0, 100, 4096, 1 << 20} {
		sent, random := newHeaders("http", "service:1"), rand.New(rand.NewPCG(1, uint64(limit)))
		sent.reset()
		var got []hpack.HeaderField
		decoder := hpack.NewDecoder(headerTableSize, func(field hpack.HeaderField) { got = append(got, field) })
		for n := range 4000 {
			path := fmt.Sprintf("/%s/%d", strings.Repeat("p", 20), random.IntN(n/40+1))
			if n == 20 {
				sent.limitTable(limit)
			}
			block, err := sent.block([]byte(path))
			if err != nil {
				t.Fatal(err)
			}
			got = got[:0]
			if _, err := decoder.Write(block); err != nil {
				t.Fatalf("limit %d, request %d: %v", limit, n, err)
			}
			_ = decoder.Close()
			if len(got) != 7 || got[pathField].Value != path || got[6].Value != "wireload" {
				t.Fatalf("limit %d, request %d: want %s, got %v", limit, n, path, got)
			}
		}
	}
}
