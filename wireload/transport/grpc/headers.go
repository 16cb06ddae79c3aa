package grpc

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

const (
	pathField = 2
	// What the table takes for an entry beside its name and value: RFC 7541, 4.1.
	entryBytes = 32
)

// headers encodes the header blocks of a connection's requests. A block of fields that are all in the dynamic table stays
// the same until something is added to the table: it is encoded once, since looking up eight fields takes as long as all
// else that is done for a request.
type headers struct {
	fields  []hpack.HeaderField // Of every request; the path is in place pathField.
	names   transport.Names
	buffer  bytes.Buffer
	encoder *hpack.Encoder
	// stable has the blocks of paths that were in the table when they were encoded; seen are all paths of the connection.
	stable map[string][]byte
	seen   map[string]bool
	// seenBytes is the part of the table that paths take. Where it gets too small for all of them, nothing is stable.
	seenBytes int
}

func newHeaders(scheme, authority string) headers {
	return headers{
		fields: []hpack.HeaderField{
			{Name: ":method", Value: "POST"},
			{Name: ":scheme", Value: scheme},
			{Name: ":path"},
			{Name: ":authority", Value: authority},
			{Name: "content-type", Value: "application/grpc"},
			{Name: "te", Value: "trailers"},
			{Name: "user-agent", Value: "wireload"},
		},
		names:  transport.Names{},
		stable: map[string][]byte{},
		seen:   map[string]bool{},
	}
}

// reset is for a fresh connection.
func (h *headers) reset() {
	h.encoder = hpack.NewEncoder(&h.buffer)
	clear(h.stable)
	clear(h.seen)
	h.seenBytes = 0
}

// limitTable follows the server's limit of the table.
func (h *headers) limitTable(size uint32) {
	h.encoder.SetMaxDynamicTableSize(min(size, headerTableSize))
	clear(h.stable)
	if size < headerTableSize {
		h.seenBytes = headerTableSize
	}
}

// block returns the header block of the connection's next request, valid until the one after it.
func (h *headers) block(path []byte) ([]byte, error) {
	if known, ok := h.stable[string(path)]; ok {
		return known, nil
	}
	name := h.names.Of(path)
	h.buffer.Reset()
	h.fields[pathField].Value = name
	for _, field := range h.fields {
		if err := h.encoder.WriteField(field); err != nil {
			return nil, err
		}
	}
	if h.seenBytes > headerTableSize/2 {
		clear(h.stable)
		return h.buffer.Bytes(), nil
	}
	if h.seen[name] {
		h.stable[name] = bytes.Clone(h.buffer.Bytes())
	} else { // It was added to the table, which moved all else.
		clear(h.stable)
		h.seen[name] = true
		h.seenBytes += len(":path") + len(name) + entryBytes
	}
	return h.buffer.Bytes(), nil
}
