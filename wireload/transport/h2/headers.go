package h2

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
)

const (
	// The size of the table that servers have, unless they say otherwise: RFC 9113, 6.5.2.
	headerTableBytes = 4096
	// What the table takes for an entry beside its name and value: RFC 7541, 4.1.
	entryBytes = 32
	// Entries and indices of the static table: RFC 7541, appendix A.
	staticEntries, pathIndex, contentLengthIndex = 61, 4, 28
)

// Head is what tells the headers of requests apart.
type Head struct {
	Fields
	// Target is in place of a path that the server need not remember, because there are many.
	Target []byte
	// BodyBytes is the content-length to send; negative sends none.
	BodyBytes int
	// Headers are remembered by the server too; Varying are not.
	Headers, Varying []request.Header
}

// Fields are those of a Head that the server remembers; what is empty is left out.
type Fields struct{ Method, Path, ContentType, Timeout, TE string }

// headers encodes the header blocks of a connection's requests (HPACK, RFC 7541). A block of fields that the server remembers
// is encoded once, since looking up eight fields takes as long as all else that is done for a request.
type headers struct {
	scheme, authority string
	// table numbers the fields that the server remembers, from 1 in their order. There is never more than fits, so that it
	// forgets none; room is what is left.
	table map[hpack.HeaderField]int
	room  int
	// blocks are those whose indices hold.
	blocks map[remembered]encoded
	// update tells the server that the table is empty, and stays so.
	update, whole []byte
}

// remembered is what the server remembers of a Head; headers are known by their place in memory.
type remembered struct {
	Fields
	headers *request.Header
}

// encoded is a block, and how much of it are the pseudo-fields, which come first.
type encoded struct {
	block       []byte
	pseudoBytes int
}

func newHeaders(scheme, authority string) headers {
	return headers{
		scheme: scheme, authority: authority,
		table: map[hpack.HeaderField]int{}, room: headerTableBytes, blocks: map[remembered]encoded{},
	}
}

// limitTable follows the server's limit of the table: one that is smaller than usual isn't used.
func (h *headers) limitTable(bytes uint32) {
	const sizeIsZero = 0x20
	if bytes < headerTableBytes {
		h.update, h.room = []byte{sizeIsZero}, 0
		clear(h.table)
		clear(h.blocks)
	}
}

// block returns the header block of the connection's next request, valid until the one after it.
func (h *headers) block(head Head) []byte {
	key := remembered{Fields: head.Fields}
	if len(head.Headers) > 0 {
		key.headers = &head.Headers[0]
	}
	known, isKnown := h.blocks[key]
	if !isKnown {
		known = h.encode(key, head.Headers)
	}
	// What differs from request to request goes between as literals, which leave the table as it is.
	h.whole = append(append(h.whole[:0], h.update...), known.block[:known.pseudoBytes]...)
	h.update = h.update[:0]
	if head.Target != nil {
		h.whole = appendText(appendInteger(h.whole, 0, 4, pathIndex), head.Target)
	}
	h.whole = append(h.whole, known.block[known.pseudoBytes:]...)
	if head.BodyBytes >= 0 {
		var digits [20]byte
		h.whole = appendText(appendInteger(h.whole, 0, 4, contentLengthIndex), strconv.AppendInt(digits[:0], int64(head.BodyBytes), 10))
	}
	for i := range head.Varying {
		h.whole = appendText(appendText(append(h.whole, 0), head.Varying[i].Key), head.Varying[i].Value)
	}
	return h.whole
}

// encode encodes what the server remembers of a request. Headers that are given take the place of the client's own.
func (h *headers) encode(key remembered, given []request.Header) encoded {
	known, made := len(h.table), encoded{}
	authority := h.authority
	isHost := func(each request.Header) bool { return each.Key == "host" }
	if place := slices.IndexFunc(given, isHost); place >= 0 {
		authority = string(given[place].Value)
	}
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: key.Method}, {Name: ":scheme", Value: h.scheme}, {Name: ":path", Value: key.Path},
		{Name: ":authority", Value: authority}, {Name: "content-type", Value: key.ContentType},
		{Name: "grpc-timeout", Value: key.Timeout}, {Name: "te", Value: key.TE}, {Name: "user-agent", Value: "wireload"},
	} {
		isGiven := func(each request.Header) bool { return each.Key == field.Name }
		if field.Value != "" && !slices.ContainsFunc(given, isGiven) {
			made.block = h.append(made.block, field)
		}
		if strings.HasPrefix(field.Name, ":") {
			made.pseudoBytes = len(made.block)
		}
	}
	for _, each := range given {
		if !isHost(each) {
			made.block = h.append(made.block, hpack.HeaderField{Name: each.Key, Value: string(each.Value)})
		}
	}
	if len(h.table) > known { // The indices of all that the server knew have moved.
		clear(h.blocks)
	} else {
		h.blocks[key] = made
	}
	return made
}

// append adds a field, which the server remembers from then on if there is room.
func (h *headers) append(block []byte, field hpack.HeaderField) []byte {
	const indexed, indexedBits, remember = 0x80, 7, 0x40
	if number, isKnown := h.table[field]; isKnown {
		return appendInteger(block, indexed, indexedBits, staticEntries+1+len(h.table)-number)
	}
	kind := byte(0)
	if size := len(field.Name) + len(field.Value) + entryBytes; size <= h.room {
		h.room -= size
		h.table[field] = len(h.table) + 1
		kind = remember
	}
	return appendText(appendText(append(block, kind), field.Name), field.Value)
}

// appendText adds a name or value as it is: RFC 7541, 5.2.
func appendText[T string | []byte](block []byte, text T) []byte {
	return append(appendInteger(block, 0, 7, len(text)), text...)
}

// appendInteger adds a number, the first so many bits of it behind a pattern: RFC 7541, 5.1.
func appendInteger(block []byte, pattern byte, bits, value int) []byte {
	most := 1<<bits - 1
	if value < most {
		return append(block, pattern|byte(value))
	}
	block = append(block, pattern|byte(most))
	for value -= most; value >= 0x80; value >>= 7 {
		block = append(block, byte(value)|0x80)
	}
	return append(block, byte(value))
}
