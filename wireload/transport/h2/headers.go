package h2

import (
	"bytes"
	"slices"
	"strconv"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
)

const (
	// What the table takes for an entry beside its name and value: RFC 7541, 4.1.
	entryBytes = 32
	// Indices of the static table: RFC 7541, appendix A.
	pathIndex, contentLengthIndex = 4, 28
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
type Fields struct {
	Method, Path, ContentType, Accept string
	// Own is a field of the protocol above.
	Own hpack.HeaderField
}

// headers encodes the header blocks of a connection's requests. A block of fields that are all in the dynamic table stays
// the same until something is added to the table: it is encoded once, since looking up eight fields takes as long as all
// else that is done for a request.
type headers struct {
	scheme, authority string
	constant          []hpack.HeaderField // Every request has them.
	encoder           *hpack.Encoder
	buffer            bytes.Buffer
	whole             []byte
	// stable has the blocks of fields that were in the table when they were encoded; seen are all of the connection.
	stable map[remembered]encoded
	// last is the key of latest, which stands in stable: most requests have the same as the one before.
	last   remembered
	latest encoded
	seen   map[remembered]bool
	// seenBytes is the part of the table that they take. Where it gets too small for all of them, nothing is stable.
	seenBytes int
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

func newHeaders(scheme, authority string, constant []hpack.HeaderField) headers {
	return headers{
		scheme: scheme, authority: authority, constant: append(constant, hpack.HeaderField{Name: "user-agent", Value: "wireload"}),
		stable: map[remembered]encoded{}, seen: map[remembered]bool{},
	}
}

// reset is for a fresh connection.
func (h *headers) reset() {
	h.encoder = hpack.NewEncoder(&h.buffer)
	h.forget()
	clear(h.seen)
	h.seenBytes = 0
}

func (h *headers) forget() {
	clear(h.stable)
	h.latest = encoded{}
}

// limitTable follows the server's limit of the table. Most servers name the one that holds anyway: an update would be
// part of the block that follows, and of each that is the same.
func (h *headers) limitTable(size uint32) {
	size = min(size, headerTableSize)
	if size == h.encoder.MaxDynamicTableSize() {
		return
	}
	h.encoder.SetMaxDynamicTableSize(size)
	h.forget()
	h.seenBytes = headerTableSize
}

// block returns the header block of the connection's next request, valid until the one after it.
func (h *headers) block(head Head) ([]byte, error) {
	key := remembered{Fields: head.Fields}
	if len(head.Headers) > 0 {
		key.headers = &head.Headers[0]
	}
	known, ok := h.latest, key == h.last && h.latest.block != nil
	if !ok {
		known, ok = h.stable[key]
	}
	if !ok {
		var err error
		if known, err = h.encode(key, head.Headers); err != nil {
			return nil, err
		}
	}
	if head.Target == nil && head.BodyBytes < 0 && len(head.Varying) == 0 {
		return known.block, nil
	}
	// What differs from request to request goes between as literals, which leave the table as it is.
	h.whole = append(h.whole[:0], known.block[:known.pseudoBytes]...)
	if head.Target != nil {
		h.whole = appendLiteral(h.whole, pathIndex, head.Target)
	}
	h.whole = append(h.whole, known.block[known.pseudoBytes:]...)
	if head.BodyBytes >= 0 {
		var digits [20]byte
		h.whole = appendLiteral(h.whole, contentLengthIndex, strconv.AppendInt(digits[:0], int64(head.BodyBytes), 10))
	}
	for i := range head.Varying {
		h.whole = appendNamed(h.whole, head.Varying[i].Key, head.Varying[i].Value)
	}
	return h.whole, nil
}

func (h *headers) encode(key remembered, given []request.Header) (encoded, error) {
	fields, authority := key.Fields, h.authority
	if place := find(given, "host"); place >= 0 {
		authority = string(given[place].Value)
	}
	h.buffer.Reset()
	if err := h.write(":method", fields.Method, ":scheme", h.scheme, ":path", fields.Path, ":authority", authority); err != nil {
		return encoded{}, err
	}
	pseudoBytes := h.buffer.Len()
	if err := h.write("content-type", fields.ContentType, "accept", fields.Accept, fields.Own.Name, fields.Own.Value); err != nil {
		return encoded{}, err
	}
	for _, field := range h.constant {
		if find(given, field.Name) >= 0 {
			continue
		}
		if err := h.encoder.WriteField(field); err != nil {
			return encoded{}, err
		}
	}
	bytesMore := 0
	for i := range given {
		if given[i].Key == "host" { // It is the authority.
			continue
		}
		if err := h.encoder.WriteField(hpack.HeaderField{Name: given[i].Key, Value: string(given[i].Value)}); err != nil {
			return encoded{}, err
		}
		bytesMore += len(given[i].Key) + len(given[i].Value) + entryBytes
	}
	return h.keep(key, bytesMore, encoded{h.buffer.Bytes(), pseudoBytes}), nil
}

// find returns the place of a header; -1 if it isn't there.
func find(given []request.Header, key string) int {
	return slices.IndexFunc(given, func(each request.Header) bool { return each.Key == key })
}

// write encodes names and their values, but for those that are empty.
func (h *headers) write(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if err := h.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}); err != nil {
			return err
		}
	}
	return nil
}

// keep notes a block that stays the same; its own headers take so many bytes of the table.
func (h *headers) keep(key remembered, headersBytes int, made encoded) encoded {
	switch {
	case h.seenBytes > headerTableSize/2:
		h.forget()
	case h.seen[key]:
		made.block = bytes.Clone(made.block)
		h.stable[key] = made
		h.last, h.latest = key, made
	default: // Some of it was added to the table, which moved all else.
		h.forget()
		h.seen[key] = true
		const names = len(":method") + len(":path") + len("content-type") + len("accept")
		values := len(key.Method) + len(key.Path) + len(key.ContentType) + len(key.Accept) + len(key.Own.Name) + len(key.Own.Value)
		h.seenBytes += names + values + 5*entryBytes + headersBytes
	}
	return made
}

// appendLiteral adds a field that isn't indexed, with a name of the static table: RFC 7541, 6.2.2.
func appendLiteral(block []byte, name int, value []byte) []byte {
	const nameBits, lengthBits = 4, 7
	block = appendInteger(block, nameBits, name)
	return append(appendInteger(block, lengthBits, len(value)), value...)
}

// appendNamed adds a field that isn't indexed, with a name of its own: RFC 7541, 6.2.2.
func appendNamed(block []byte, name string, value []byte) []byte {
	const lengthBits = 7
	block = appendInteger(append(block, 0), lengthBits, len(name))
	block = appendInteger(append(block, name...), lengthBits, len(value))
	return append(block, value...)
}

// appendInteger adds a number behind a prefix of zeros: RFC 7541, 5.1.
func appendInteger(block []byte, bits, value int) []byte {
	most := 1<<bits - 1
	if value < most {
		return append(block, byte(value))
	}
	block = append(block, byte(most))
	for value -= most; value >= 0x80; value >>= 7 {
		block = append(block, byte(value)|0x80)
	}
	return append(block, byte(value))
}
