package transport

import (
	"io"
	"slices"
	"sync/atomic"
)

const (
	// ReplyBytesMax bounds what is read of one reply, and repliesBytesMax what all users keep of theirs: a service that is
	// broken must not take all memory.
	ReplyBytesMax   = 64 << 20
	repliesBytesMax = 512 << 20
)

// kept is the memory of all buffers.
var kept atomic.Int64

// Buffer holds what has come of a reply. It grows with what comes, because a length may be wrong, and is used again.
type Buffer []byte

// Append adds a part.
func (b *Buffer) Append(part []byte) error {
	err := b.grow(len(part))
	if err == nil {
		*b = append(*b, part...)
	}
	return err
}

// Read adds some of so many bytes that are to come, and returns them.
func (b *Buffer) Read(from io.Reader, count int) ([]byte, error) {
	if err := b.grow(min(count, max(cap(*b)-len(*b), ReadBufferBytes))); err != nil {
		return nil, err
	}
	before := len(*b)
	come, err := from.Read((*b)[before:min(cap(*b), before+count)])
	if *b = (*b)[:before+come]; come > 0 {
		err = nil // The next read has it too.
	}
	return (*b)[before:], err
}

func (b *Buffer) grow(more int) error {
	if len(*b)+more > ReplyBytesMax {
		return NewGarbage("the reply is longer than %d bytes", ReplyBytesMax)
	}
	before := cap(*b)
	*b = slices.Grow(*b, more)
	if added := int64(cap(*b) - before); added > 0 && kept.Add(added) > repliesBytesMax {
		kept.Add(-int64(cap(*b)))
		*b = nil
		return NewGarbage("the replies of all users take more than %d bytes", repliesBytesMax)
	}
	return nil
}
