package socket

import (
	"bufio"
	"sync"
	"time"
)

const (
	writeBufferBytes = 8 * 1024
	// So long a client that has left may still take to read what it has asked for before.
	farewell = time.Second
)

// replies is what a connection sends. Its streams and its other replies share it: each frame stays whole.
type replies struct {
	mu     sync.Mutex
	writer *bufio.Writer
	to     *deadlineWriter
}

func newReplies(to stream, timeout time.Duration) *replies {
	limited := &deadlineWriter{stream: to, timeout: timeout}
	return &replies{writer: bufio.NewWriterSize(limited, writeBufferBytes), to: limited}
}

func (r *replies) frame(frame reply) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return frame.write(r.writer)
}

func (r *replies) text(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.writer.WriteString(text)
	return err
}

func (r *replies) flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writer.Flush()
}

// hurry gives a client that has left little time to read, also what is being sent now.
func (r *replies) hurry() { r.to.hurry(farewell) }

// deadlineWriter gives a client so long to read each piece of a reply: what it asks for and doesn't read must not keep
// its connection for good.
type deadlineWriter struct {
	stream
	mu      sync.Mutex
	timeout time.Duration
}

// Write sends a piece.
func (w *deadlineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	err := w.SetWriteDeadline(time.Now().Add(w.timeout))
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return w.stream.Write(p)
}

func (w *deadlineWriter) hurry(timeout time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeout = min(w.timeout, timeout)
	_ = w.SetWriteDeadline(time.Now().Add(w.timeout))
}
