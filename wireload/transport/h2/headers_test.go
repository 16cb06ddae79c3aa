package h2

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
)

// TestBlocksSayWhatTheyShould sends heads in any order, more than the table has room for at last, and limits the table.
func TestBlocksSayWhatTheyShould(t *testing.T) {
	operations := [][]request.Header{
		{{Name: "Authorization", Key: "authorization", Value: []byte(strings.Repeat("t", 200))}, {Name: "A", Key: "a", Value: nil}},
		{{Name: "Host", Key: "host", Value: []byte("shop")}, {Name: "User-Agent", Key: "user-agent", Value: []byte("me")}},
		{{Name: "Long", Key: "long", Value: []byte(strings.Repeat("l", 5000))}},
	}
	for _, limit := range []uint32{0, 100, 4096, 1 << 20} {
		sent, random := newHeaders("http", "service:1"), rand.New(rand.NewPCG(1, uint64(limit)))
		var got []string
		decoder := hpack.NewDecoder(headerTableBytes, func(field hpack.HeaderField) { got = append(got, field.Name+" "+field.Value) })
		for n := range 4000 {
			path := fmt.Sprintf("/%s/%d", strings.Repeat("p", 20), random.IntN(n/40+1))
			head := Head{Fields: Fields{Method: "GET", Path: path, TE: "trailers"}, BodyBytes: -1}
			want := []string{":method GET", ":scheme http", ":path " + path, ":authority service:1", "te trailers", "user-agent wireload"}
			if n%3 == 0 {
				head = Head{Fields: Fields{Method: "PUT", ContentType: "a/b"}, Target: []byte(strings.Repeat(path, n%7+1)), BodyBytes: n * n}
				want = []string{
					":method PUT", ":scheme http", ":authority service:1", ":path " + string(head.Target), "content-type a/b",
					"user-agent wireload", fmt.Sprintf("content-length %d", n*n),
				}
			}
			if n%5 == 0 { // Headers of an operation's own, and one that differs from request to request.
				own := operations[n%len(operations)]
				varying := fmt.Sprint(n)
				head.Headers, head.Varying = own, []request.Header{{Name: "X-N", Key: "x-n", Value: []byte(varying)}}
				for _, each := range own {
					switch each.Key {
					case "host":
						want[slices.Index(want, ":authority service:1")] = ":authority " + string(each.Value)
						continue
					case "user-agent":
						want = slices.DeleteFunc(want, func(line string) bool { return line == "user-agent wireload" })
					}
					place := len(want)
					if head.BodyBytes >= 0 { // Which comes after what the server remembers.
						place--
					}
					want = slices.Insert(want, place, each.Key+" "+string(each.Value))
				}
				want = append(want, "x-n "+varying)
			}
			if n == 20 {
				sent.limitTable(limit)
			}
			got = got[:0]
			if _, err := decoder.Write(sent.block(head)); err != nil {
				t.Fatalf("limit %d, request %d: %v", limit, n, err)
			}
			if err := decoder.Close(); err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("limit %d, request %d: want %q, got %q, %v", limit, n, want, got, err)
			}
		}
	}
}
