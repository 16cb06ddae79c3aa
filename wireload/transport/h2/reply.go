package h2

import (
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"wirebench.dev/wireload/transport"
)

// reply is how far a stream's reply has come.
type reply struct {
	receiver Receiver
	decoder  *hpack.Decoder

	begun, ended, inHeaders bool
	endsWithHeaders         bool
	block                   []byte
}

// reset is for a fresh connection.
func (r *reply) reset() { r.decoder = hpack.NewDecoder(headerTableSize, r.receiver.TakeField) }

// begin is for a fresh stream.
func (r *reply) begin() { r.begun, r.ended, r.inHeaders = false, false, false }

func (r *reply) take(header http2.FrameHeader, payload []byte) error {
	r.begun = true
	if header.Type != http2.FrameContinuation {
		var err error
		if payload, err = trim(header, payload); err != nil {
			return err
		}
	}
	if header.Type == http2.FrameData {
		r.ended = header.Flags.Has(http2.FlagDataEndStream)
		return r.receiver.TakeData(payload)
	}
	return r.takeHeaders(header, payload)
}

// takeHeaders takes HEADERS and CONTINUATION frames.
func (r *reply) takeHeaders(header http2.FrameHeader, payload []byte) error {
	if header.Type == http2.FrameHeaders {
		r.block = r.block[:0]
		r.endsWithHeaders = header.Flags.Has(http2.FlagHeadersEndStream)
	}
	if len(r.block)+len(payload) > blockBytesMax {
		return transport.NewGarbage("the reply's headers are longer than %d bytes", blockBytesMax)
	}
	r.block = append(r.block, payload...)
	r.inHeaders = !header.Flags.Has(http2.FlagHeadersEndHeaders) // The same bit in CONTINUATION.
	if r.inHeaders {
		return nil
	}
	if _, err := r.decoder.Write(r.block); err != nil {
		return transport.NewGarbage("the reply's headers can't be read: %s", err)
	}
	if err := r.decoder.Close(); err != nil {
		return transport.NewGarbage("the reply's headers can't be read: %s", err)
	}
	r.ended = r.endsWithHeaders
	return nil
}
