package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
	renderer, err := application.NewRenderer(job.Requests)
	if err != nil {
		return newUsageError("%s: %w", arguments[0], err)
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for range job.RequestsEach {
		rendered, err := renderer.Next()
		if err == nil {
			err = encoder.Encode(rendered)
		}
		if err != nil {
			return err
		}
		if lines.Len() > renderedBytesMax {
			return fmt.Errorf("%d requests take more than %d MiB: render fewer, or choose a smaller payload", job.RequestsEach, renderedBytesMax>>20)
		}
	}
	_, err = lines.WriteTo(out)
	return err
}
