package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
)

// renderJob prints requests of a job's operation, a line each, for other tools to send.
func renderJob(arguments []string, out io.Writer) error {
	job, err := readJob("render", arguments)
	if err != nil {
		return err
	}
	lines, err := job.application.Render(job.Requests, job.RequestsEach)
	if err != nil {
		return newUsageError("%s: %w", arguments[0], err)
	}
	_, err = out.Write(lines)
	return err
}

// answer is a line of `wireload request`: the outcome of a request.
type answer struct {
	Operation string `json:"operation"`
	Sent      string `json:"sent"`
	// Status is that of HTTP, or the outcome on other transports; empty without a whole reply.
	Status string `json:"status"`
	// Reply is JSON, a text, or a list of a stream's items; null without a whole reply, and on failures of other
	// transports than REST.
	Reply json.RawMessage `json:"reply"`
	// Same has a text for each entry of the operation's `same`: equal ones for equal values, null for no value.
	Same []*string `json:"same,omitempty"`
	// Problem is empty if the reply is as expected.
	Problem string `json:"problem"`
}

// requestJob sends some requests of each operation of a job, one after the other on one connection, and shows the replies.
func requestJob(ctx context.Context, arguments []string, out io.Writer) error {
	job, err := readJob("request", arguments)
	if err != nil {
		return err
	}
	operations, err := job.application.CompileEach(job.Requests)
	if err != nil {
		return newUsageError("%s: %w", arguments[0], err)
	}
	if err := job.connect(); err != nil {
		return err
	}
	probe := engine.NewProbe(ctx, &job.Load)
	defer probe.Close()
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for _, each := range operations {
		for range job.RequestsEach {
			made, err := ask(probe, each, job.Addresses[0])
			if each.Deletes && err == nil && made.Problem == "" { // Before comes what creates the record.
				made, err = ask(probe, each, job.Addresses[0])
			}
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if err := lines.Encode(made); err != nil {
				return err
			}
			if probe.Failure != nil && probe.Failure.Class == transport.Timeout {
				return nil // The others would take as long.
			}
		}
	}
	return nil
}

// ask sends the next request of an operation.
func ask(probe *engine.Probe, operation request.Single, address string) (made answer, err error) {
	if err := probe.Send(operation); err != nil {
		return made, err
	}
	reply := probe.Reply
	made = answer{Operation: operation.Operation, Sent: operation.Sent(&probe.Request), Status: string(reply.Code)}
	switch {
	case probe.IsUnreachable:
		return made, fmt.Errorf("%s can't be reached: %s", address, probe.Failure.Message)
	case probe.Failure != nil:
		made.Status, made.Problem = "", probe.Failure.Message
		return made, nil
	case probe.Wrong != nil:
		made.Problem = probe.Wrong.Error()
	case reply.Code != histogram.OK:
		made.Problem = fmt.Sprintf("%s: %s", reply.Code, reply.Message)
	}
	if reply.Status != 0 {
		made.Status = strconv.Itoa(reply.Status)
		if reply.Code != histogram.OK {
			made.Problem += fmt.Sprintf(" in place of %d", probe.Request.Status)
		}
	} else if reply.Code != histogram.OK {
		return made, nil
	}
	isStream := probe.Request.Stream && (reply.Status == 0 || reply.Status == http.StatusOK)
	if !isStream { // A stream that was rejected has a body instead.
		probe.Items = [][]byte{reply.Body}
	}
	made.Reply = operation.Show(probe.Items, isStream)
	made.Same = operation.Same(made.Reply, isStream)
	return made, nil
}
