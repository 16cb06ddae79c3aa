package socket

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/platform"
)

const lineOperation = "echo.upper"

// calls answers what connections ask, and counts it.
type calls struct{ worker *platform.Worker }

// answer carries out a request.
func (c calls) answer(codec operations.Codec, r request) reply {
	begun := c.worker.Recorder.Started()
	name, outcome := platform.Unknown, operations.Outcome{}
	if operation, ok := operations.ByName[string(r.method)]; ok {
		name, outcome = operation.Name, operation.Run(c.worker.Application, codec, r.body)
	} else {
		err := domain.Errorf(domain.Unimplemented, "Unknown method: %s.", printable(r.method))
		outcome = operations.Refusal(err)
	}
	c.worker.Recorder.Finished(name, outcome.Code, begun, len(r.body), len(outcome.Body))
	return reply{id: r.id, code: outcome.Code, message: outcome.Message, body: outcome.Body}
}

// refuse answers a frame that can't be followed.
func (c calls) refuse(err *frameError) reply {
	c.worker.Recorder.Finished(platform.Unknown, err.refusal.Code, c.worker.Recorder.Started(), 0, 0)
	return reply{id: err.id, code: err.refusal.Code, message: err.refusal.Message}
}

// answerLine gives a line back in upper case; an empty one comes back too, where the operation would miss its text.
func (c calls) answerLine(text string) string {
	begun := c.worker.Recorder.Started()
	answer := domain.ToUpper(text) + "\n"
	c.worker.Recorder.Finished(lineOperation, domain.OK, begun, len(text), len(answer))
	return answer
}

// refuseLine says what was wrong with a line.
func (c calls) refuseLine(reason *lineError) string {
	answer := "ERROR: " + reason.message + "\n"
	c.worker.Recorder.Finished(lineOperation, domain.InvalidArgument, c.worker.Recorder.Started(), 0, len(answer))
	return answer
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
