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
	"wirebench.dev/wireload/variable"
)

const requestsEachMax = 1000

// answer is a line of `wireload request`: the outcome of a request.
type answer struct {
	Operation string `json:"operation"`
	// Number counts the operation's requests from 1.
	Number int `json:"number"`
	// Status is that of HTTP, or the outcome on other transports; empty without a whole reply.
	Status string `json:"status"`
	// Reply is JSON, a text, or a list of a stream's items; null without a whole reply, and on failures of other
	// transports than REST.
	Reply json.RawMessage `json:"reply"`
	// Problem is empty if the reply is as expected.
	Problem string `json:"problem"`
}

// requestJob sends some requests of each operation of a job, one after the other on one connection, and shows the replies.
func requestJob(ctx context.Context, arguments []string, out io.Writer) error {
	job, err := readJob("request", arguments)
	if err != nil {
		return err
	}
	application, err := job.readApplication()
	if err != nil {
		return err
	}
	options := job.Requests
	options.Calls, options.WarmupCalls, options.Wait = job.Calls, job.WarmupCalls, func() {}
	operations, err := application.CompileEach(options)
	if err != nil {
		return newUsageError("%s: %w", arguments[0], err)
	}
	load := &engine.Load{
		Addresses: job.Addresses, Generators: 1, Timeout: seconds(job.TimeoutS), Reopen: job.Reopen,
	}
	if err := job.connect(load, operations[0].IsLine); err != nil {
		return err
	}
	probe := engine.NewProbe(ctx, load)
	defer probe.Close()
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for i := range operations {
		for number := range job.RequestsEach {
			made, err := ask(probe, &operations[i], load)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			made.Number = number + 1
			if err := lines.Encode(made); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask sends one request of an operation, and before it the one that creates what it deletes.
func ask(probe *engine.Probe, operation *request.Single, load *engine.Load) (answer, error) {
	made, err := askOnce(probe, operation, load)
	if err != nil || !operation.Deletes {
		return made, err
	}
	if made.Problem != "" {
		made.Problem = "the request that creates what it deletes: " + made.Problem
		return made, nil
	}
	return askOnce(probe, operation, load)
}

func askOnce(probe *engine.Probe, operation *request.Single, load *engine.Load) (answer, error) {
	probed, err := probe.Send(operation.Source)
	if err != nil {
		return answer{}, err
	}
	made := answer{Operation: operation.Operation}
	switch {
	case probed.IsUnreachable:
		return made, fmt.Errorf("%s can't be reached: %s", load.Addresses[0], probed.Failure.Message)
	case probed.Failure != nil:
		made.Problem = variable.Hide(probed.Failure.Message)
		return made, nil
	case probed.Wrong != nil:
		made.Problem = variable.Hide(probed.Wrong.Error())
	case probed.Reply.Code != histogram.OK:
		made.Problem = variable.Hide(fmt.Sprintf("%s: %s", probed.Reply.Code, probed.Reply.Message))
		if probed.Reply.Status != 0 {
			made.Problem += fmt.Sprintf(" in place of %d", probed.Request.Status)
		}
	}
	made.Status = string(probed.Reply.Code)
	if probed.Reply.Status != 0 {
		made.Status = strconv.Itoa(probed.Reply.Status)
	}
	if probed.Reply.Status != 0 || probed.Reply.Code == histogram.OK {
		content, err := probed.Reply.Content()
		if err != nil { // A check says so, if the reply is one of success.
			content = probed.Reply.Body
		}
		if probed.Request.Stream && (probed.Reply.Status == 0 || probed.Reply.Status == http.StatusOK) {
			made.Reply = operation.ShowItems(probed.Items)
		} else { // A stream that was rejected has a body instead.
			made.Reply = operation.Show(content)
		}
	}
	return made, nil
}
