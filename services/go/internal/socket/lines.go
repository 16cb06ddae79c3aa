package socket

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const lineBytesMax = 64 * 1024

// lineError is a line that is answered with an error, after which the connection is closed.
type lineError struct{ message string }

func (e *lineError) Error() string { return e.message }

// isWholeLine returns whether all of a line is buffered.
func isWholeLine(reader *bufio.Reader) bool {
	buffered, err := reader.Peek(reader.Buffered())
	return err == nil && bytes.IndexByte(buffered, '\n') >= 0
}

// readLine returns the next line without its end; with io.EOF it is the last one, which had none, and may be empty.
// Errors: *lineError, and those of the connection.
func readLine(reader *bufio.Reader) (string, error) {
	var line []byte
	for {
		piece, err := reader.ReadSlice('\n')
		line = append(line, piece...)
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		switch {
		case len(text) > lineBytesMax && (err == nil || len(line) > lineBytesMax+len("\r")):
			return "", &lineError{fmt.Sprintf("The line is longer than %d bytes.", lineBytesMax)}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return "", err
		case !utf8.Valid(text):
			return "", &lineError{"The line is not valid UTF-8."}
		}
		return string(text), err
	}
}
