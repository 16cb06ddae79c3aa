package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/variable"
)

const reflectionTimeout = time.Minute

// schemaJob says where messages are to be read from: from files, which are proto files or compiled sets, or by reflection.
type schemaJob struct {
	Protos  []string `json:"protos"`
	Imports []string `json:"imports"`

	Reflection string            `json:"reflection"`
	TLS        *jobTLS           `json:"tls"`
	Metadata   map[string]string `json:"metadata"`
	Calls      []string          `json:"calls"`
}

// printSchema prints the FileDescriptorSet that a job asks for, in base64.
func printSchema(ctx context.Context, arguments []string, out io.Writer) error {
	var job schemaJob
	if err := readJSON("schema", arguments, &job); err != nil {
		return err
	}
	var descriptors []byte
	var err error
	switch {
	case (len(job.Protos) == 0) == (job.Reflection == ""):
		return newUsageError("%s: needs either protos or reflection", arguments[0])
	case job.Reflection != "":
		descriptors, err = job.reflect(ctx)
	default:
		descriptors, err = contract.Read("", job.Protos, job.Imports)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, base64.StdEncoding.EncodeToString(descriptors))
	return err
}

// reflect asks a server for its messages.
func (j *schemaJob) reflect(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reflectionTimeout, fmt.Errorf("%s: server reflection takes longer than %s", j.Reflection, reflectionTimeout))
	defer cancel()
	job := &Job{Requests: request.Options{Transport: "grpc"}, TLS: j.TLS, TimeoutS: reflectionTimeout.Seconds() / 6}
	job.Addresses = []string{j.Reflection}
	if err := job.connect(); err != nil {
		return nil, err
	}
	headers, err := request.Metadata(j.Metadata)
	if err != nil {
		return nil, err
	}
	probe := engine.NewProbe(ctx, &job.Load)
	defer probe.Close()
	descriptors, err := contract.Reflect(func(method string, question []byte) ([]byte, error) {
		err := probe.Send(&request.Constant{Request: request.Request{
			Operation: method, Path: []byte("/" + method), Headers: headers, Body: question, Stream: true,
		}})
		switch {
		case err != nil:
			return nil, err
		case probe.Failure != nil:
			return nil, errors.New(probe.Failure.Message)
		case probe.Reply.Code == histogram.Unimplemented:
			return nil, contract.ErrUnimplemented
		case probe.Reply.Code != histogram.OK:
			return nil, fmt.Errorf("server reflection failed: %s: %s", probe.Reply.Code, probe.Reply.Message)
		case len(probe.Items) == 0:
			return nil, errors.New("server reflection gave no answer")
		}
		return probe.Items[0], nil
	}, j.Calls)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", j.Reflection, variable.Clean(err.Error()))
	}
	return descriptors, nil
}
