// Package line reads lines of text.
package line

import (
	"bufio"
	"bytes"
	"errors"
)

// BytesMax is the longest line that is read, with its end.
const BytesMax = 1 << 20

// ErrTooLong is the error for longer lines.
var ErrTooLong = errors.New("a line is longer than 1 MiB")

// Reader reads lines.
type Reader struct {
	*bufio.Reader
	// long has a line that is longer than the reader's buffer.
	long []byte
}

// NewReader returns a reader without a source, with a buffer of this size.
func NewReader(bufferBytes int) *Reader {
	return &Reader{Reader: bufio.NewReaderSize(nil, bufferBytes)}
}

// Next returns a line without its end, LF or CR LF, valid until the one after it. With io.EOF and other errors it returns
// the part of a line before them.
func (r *Reader) Next() ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = r.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			r.long = append(r.long, line...)
			if len(r.long) >= BytesMax {
				return nil, ErrTooLong
			}
			line, err = r.ReadSlice('\n')
		}
		r.long = append(r.long, line...)
		line = r.long
	}
	if len(line) > BytesMax {
		return nil, ErrTooLong
	}
	if err != nil {
		return line, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}
