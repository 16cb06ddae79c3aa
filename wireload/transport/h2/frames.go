package h2

import (
	"bufio"
	"encoding/binary"
	"io"

	"golang.org/x/net/http2"
	"wirebench.dev/wireload/transport"
)

const (
	// What a peer may send in a frame unless it was told otherwise, and what it allows at first: RFC 9113, 6.5.2.
	frameBytesMax = 16 << 10
	// What a frame's header can say.
	longestFrameBytes = 1<<24 - 1
	// What the first bytes of an HTTP/1 reply are as the length of a frame.
	httpLength      = 'H'<<16 | 'T'<<8 | 'T'
	windowBytes     = 65_535
	headerTableSize = 4096
	// Windows for replies: flow control is TCP's, because replies are read as they come.
	receiveWindowBytes = 1 << 30
	blockBytesMax      = 1 << 20
	headerBytes        = 9
)

// frameReader reads HTTP/2 frames. http2.Framer would allocate memory for each frame of headers.
type frameReader struct {
	reader *bufio.Reader
	// long has the payload of a frame that is longer than the reader's buffer.
	long []byte
}

// read returns the next frame; its payload is valid until the one after it.
func (f *frameReader) read() (http2.FrameHeader, []byte, error) {
	head, err := f.reader.Peek(headerBytes)
	if err != nil {
		return http2.FrameHeader{}, nil, err
	}
	header := parseHeader(head)
	if header.Length == httpLength {
		return header, nil, transport.NewGarbage("the server does not speak HTTP/2: it answers in HTTP/1")
	}
	if header.Length > frameBytesMax {
		return header, nil, transport.NewGarbage("the reply is not HTTP/2: a frame of %d bytes", header.Length)
	}
	length := int(header.Length)
	if headerBytes+length <= f.reader.Size() {
		whole, err := f.reader.Peek(headerBytes + length)
		if err == nil {
			_, err = f.reader.Discard(headerBytes + length)
		}
		return header, whole[min(headerBytes, len(whole)):], err
	}
	if f.long == nil {
		f.long = make([]byte, frameBytesMax)
	}
	_, _ = f.reader.Discard(headerBytes)
	_, err = io.ReadFull(f.reader, f.long[:length])
	return header, f.long[:length], err
}

// parseHeader reads the nine bytes that a frame begins with: RFC 9113, 4.1.
func parseHeader(head []byte) http2.FrameHeader {
	return http2.FrameHeader{
		Length: binary.BigEndian.Uint32(head) >> 8, Type: http2.FrameType(head[3]), Flags: http2.Flags(head[4]),
		StreamID: binary.BigEndian.Uint32(head[5:]) & (1<<31 - 1),
	}
}

// hasNext reports whether a frame has come whole, so that reading it doesn't wait.
func (f *frameReader) hasNext() bool {
	if f.reader.Buffered() < headerBytes {
		return false
	}
	head, _ := f.reader.Peek(headerBytes)
	return f.reader.Buffered() >= headerBytes+int(parseHeader(head).Length)
}

// trim cuts padding and priority off the payload of a DATA or HEADERS frame.
func trim(header http2.FrameHeader, payload []byte) ([]byte, error) {
	padding := 0
	if header.Flags.Has(http2.FlagDataPadded) { // The same bit in HEADERS.
		if len(payload) == 0 {
			return nil, tooShort()
		}
		padding, payload = int(payload[0]), payload[1:]
	}
	if header.Type == http2.FrameHeaders && header.Flags.Has(http2.FlagHeadersPriority) {
		const priorityBytes = 5
		if len(payload) < priorityBytes {
			return nil, tooShort()
		}
		payload = payload[priorityBytes:]
	}
	if padding > len(payload) {
		return nil, tooShort()
	}
	return payload[:len(payload)-padding], nil
}

func tooShort() error {
	return transport.NewGarbage("the reply is not HTTP/2: a frame is shorter than its fields")
}

// number returns the 31-bit number at the start of a payload that has at least `size` bytes.
func number(payload []byte, size int) (uint32, error) {
	if len(payload) < size {
		return 0, tooShort()
	}
	return binary.BigEndian.Uint32(payload) & (1<<31 - 1), nil
}
