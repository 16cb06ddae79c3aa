package h2

import (
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

// reply is the header block that is coming, and what reads it: all blocks of a connection need the same decoder, also those
// of streams that no call waits for any more.
type reply struct {
	decoder *hpack.Decoder
	// receiver is that of the block's stream; nil if no call waits for it.
	receiver Receiver
	block    []byte
	streamID uint32

	inHeaders, endsStream bool
}

// reset is for a fresh connection.
func (r *reply) reset() {
	r.inHeaders = false
	r.decoder = hpack.NewDecoder(headerTableSize, func(field hpack.HeaderField) {
		if r.receiver != nil {
			r.receiver.TakeField(field)
		}
	})
}

// takeHeaders takes HEADERS and CONTINUATION frames.
func (c *Connection) takeHeaders(header http2.FrameHeader, payload []byte, s *Stream) error {
	r := &c.reply
	if header.Type == http2.FrameHeaders {
		r.block, r.streamID, r.endsStream = r.block[:0], header.StreamID, header.Flags.Has(http2.FlagHeadersEndStream)
	}
	if len(r.block)+len(payload) > blockBytesMax {
		return transport.NewGarbage("the reply's headers are longer than %d bytes", blockBytesMax)
	}
	r.block = append(r.block, payload...)
	r.inHeaders = !header.Flags.Has(http2.FlagHeadersEndHeaders) // The same bit in CONTINUATION.
	if r.inHeaders {
		return nil
	}
	r.receiver = nil
	if s != nil {
		r.receiver = s.receiver
	}
	if _, err := r.decoder.Write(r.block); err != nil {
		return transport.NewGarbage("the reply's headers can't be read: %s", err)
	}
	if err := r.decoder.Close(); err != nil {
		return transport.NewGarbage("the reply's headers can't be read: %s", err)
	}
	switch {
	case s == nil:
	case r.endsStream:
		c.complete(s)
	case s.isPulled:
		s.notify()
	}
	return nil
}
