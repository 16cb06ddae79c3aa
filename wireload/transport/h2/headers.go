package h2

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/request"
)

// headerTableBytes is the size of the table that servers have, unless they say otherwise: RFC 9113, 6.5.2.
const headerTableBytes = 4096

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
	// encoder writes to whole.
	encoder *hpack.Encoder
	whole   bytes.Buffer
	// known are the fields that the server remembers. There are never more than fit, so that it forgets none; room is what
	// is left.
	known map[hpack.HeaderField]bool
	room  int
	// blocks are those whose indices hold.
	blocks map[remembered]encoded
	digits []byte
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

func newHeaders(scheme, authority string) *headers {
	h := &headers{
		scheme: scheme, authority: authority,
		known: map[hpack.HeaderField]bool{}, room: headerTableBytes, blocks: map[remembered]encoded{},
	}
	h.encoder = hpack.NewEncoder(&h.whole)
	return h
}

// limitTable follows the server's limit of the table: one that is smaller than usual isn't used.
func (h *headers) limitTable(bytes uint32) {
	if bytes < headerTableBytes {
		h.encoder.SetMaxDynamicTableSize(0)
		h.room = 0
		clear(h.known)
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
	h.whole.Reset()
	h.whole.Write(known.block[:known.pseudoBytes])
	if head.Target != nil {
		h.writeOnce(":path", head.Target)
	}
	h.whole.Write(known.block[known.pseudoBytes:])
	if head.BodyBytes >= 0 {
		h.digits = strconv.AppendInt(h.digits[:0], int64(head.BodyBytes), 10)
		h.writeOnce("content-length", h.digits)
	}
	for i := range head.Varying {
		h.writeOnce(head.Varying[i].Key, head.Varying[i].Value)
	}
	return h.whole.Bytes()
}

// writeOnce writes what differs from request to request as a literal, which leaves the table as it is: RFC 7541, 6.2.2. The
// encoder would look it up, and compress it.
func (h *headers) writeOnce(name string, value []byte) {
	literal := append(h.whole.AvailableBuffer(), 0)
	h.whole.Write(appendText(appendText(literal, name), value))
}

// appendText adds a name or value as it is, behind its length: RFC 7541, 5.1 and 5.2.
func appendText[T string | []byte](block []byte, text T) []byte {
	const most = 1<<7 - 1
	if len(text) < most {
		block = append(block, byte(len(text)))
	} else {
		block = binary.AppendUvarint(append(block, most), uint64(len(text)-most))
	}
	return append(block, text...)
}

// encode encodes what the server remembers of a request. Headers that are given take the place of the client's own.
func (h *headers) encode(key remembered, given []request.Header) encoded {
	known, made := len(h.known), encoded{}
	h.whole.Reset()
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
			h.write(field)
		}
		if strings.HasPrefix(field.Name, ":") {
			made.pseudoBytes = h.whole.Len()
		}
	}
	for _, each := range given {
		if !isHost(each) {
			h.write(hpack.HeaderField{Name: each.Key, Value: string(each.Value)})
		}
	}
	made.block = bytes.Clone(h.whole.Bytes())
	if len(h.known) > known { // The indices of all that the server knew have moved.
		clear(h.blocks)
	} else {
		h.blocks[key] = made
	}
	return made
}

// write writes a field, which the server remembers from then on if there is room.
func (h *headers) write(field hpack.HeaderField) {
	if size := int(field.Size()); !h.known[field] && size <= h.room {
		h.room -= size
		h.known[field] = true
	}
	field.Sensitive = !h.known[field]
	_ = h.encoder.WriteField(field)
}
