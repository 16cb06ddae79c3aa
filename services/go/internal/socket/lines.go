package socket

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/failure"
)

const lineBytesMax = 64 * 1024

// answerLine returns the next line in upper case, also an empty one, which the operation would reject.
func (c *connection) answerLine() error {
	line, err := c.reader.ReadSlice('\n') // the buffer holds the longest line
	isLast := errors.Is(err, io.EOF)
	if isLast && len(line) == 0 || err != nil && !isLast && len(line) <= lineBytesMax {
		return err
	}
	begun := time.Now()
	text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	switch {
	case len(text) > lineBytesMax:
		return c.rejectLine(fmt.Sprintf("The line is longer than %d bytes.", lineBytesMax))
	case !utf8.Valid(text):
		return c.rejectLine("The line is not valid UTF-8.")
	}
	answer := application.ToUpper(string(text)) + "\n"
	c.server.requests.Observe(lineOperation, nil, begun, len(text), len(answer))
	return c.sendLine(answer)
}

func (c *connection) rejectLine(reason string) error {
	answer := "ERROR: " + reason + "\n"
	c.server.requests.Observe(lineOperation, failure.Invalid("%s", reason), time.Now(), 0, len(answer))
	return errors.Join(errRejected, c.sendLine(answer))
}

func (c *connection) sendLine(line string) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.unflushed = true
	_, err := c.writer.WriteString(line)
	return err
}
