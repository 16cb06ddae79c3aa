package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"wirebench.dev/wireload/request"
)

// renderedBytesMax bounds what `wireload render` prints: other tools keep all of it in memory.
const renderedBytesMax = 64 << 20

// renderJob prints requests of a job's operation, a line each, for other tools to send.
func renderJob(arguments []string, out io.Writer) error {
	job, err := readJob("render", arguments)
	if err != nil {
		return err
	}
	application, err := job.readApplication()
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	err = application.Render(job.Requests, job.RequestsEach, func(rendered request.Rendered) error {
		if lines.Len() > renderedBytesMax {
			return fmt.Errorf("%d requests take more than %d MiB: render fewer, or choose a smaller payload", job.RequestsEach, renderedBytesMax>>20)
		}
		return encoder.Encode(rendered)
	})
	if err != nil {
		return newUsageError("%s: %w", arguments[0], err)
	}
	_, err = lines.WriteTo(out)
	return err
}
