package socket

import (
	"bufio"
	"fmt"
	"strings"
	"unicode/utf8"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/platform"
)

const lineOperation = "echo.upper"

// calls answers what connections ask, and counts it; what it writes isn't flushed.
type calls struct{ worker *platform.Worker }

// answer carries out a request.
func (c calls) answer(writer *bufio.Writer, codec operations.Codec, r request) error {
	begun := c.worker.Recorder.Started()
	name, outcome := platform.Unknown, operations.Outcome{}
	if operation, ok := operations.ByName[string(r.method)]; ok {
		name, outcome = operation.Name, operation.Run(c.worker.Application, codec, r.body)
	} else {
		err := domain.Errorf(domain.Unimplemented, "Unknown method: %s.", printable(r.method))
		outcome = operations.Refusal(err)
	}
	c.worker.Recorder.Finished(name, outcome.Code, begun, len(r.body), len(outcome.Body))
	return writeReply(writer, r.id, outcome.Code, outcome.Message, outcome.Body)
}

// refuse answers a frame that can't be followed.
func (c calls) refuse(writer *bufio.Writer, err *frameError) error {
	c.worker.Recorder.Finished(platform.Unknown, err.refusal.Code, c.worker.Recorder.Started(), 0, 0)
	return writeReply(writer, err.id, err.refusal.Code, err.refusal.Message, nil)
}

// answerLine gives a line back in upper case.
func (c calls) answerLine(writer *bufio.Writer, text string) error {
	begun := c.worker.Recorder.Started()
	reply := answerLine(text)
	c.worker.Recorder.Finished(lineOperation, domain.OK, begun, len(text), len(reply))
	_, err := writer.WriteString(reply)
	return err
}

// refuseLine says what was wrong with a line.
func (c calls) refuseLine(writer *bufio.Writer, reason *lineError) error {
	reply := "ERROR: " + reason.message + "\n"
	c.worker.Recorder.Finished(lineOperation, domain.InvalidArgument, c.worker.Recorder.Started(), 0, len(reply))
	_, err := writer.WriteString(reply)
	return err
}

// printable returns ASCII as it is, and other bytes as escapes.
func printable(text []byte) string {
	var out strings.Builder
	for _, each := range text {
		if each < utf8.RuneSelf {
			out.WriteByte(each)
		} else {
			fmt.Fprintf(&out, `\x%02x`, each)
		}
	}
	return out.String()
}
