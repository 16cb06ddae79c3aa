// Package cli is the command line of wireload.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/histogram"
)

// Version is that of the project.
const Version = "0.1.0"

const usage = `wireload sends load to REST, gRPC and socket services, and measures how long
their replies take. wireload/README.md has examples, and describes jobs.

Usage:
  wireload rest URL [BODY]                one request over and over, by HTTP/1.1
  wireload grpc ADDRESS METHOD [MESSAGE]  package.Service/Method, and JSON
  wireload socket ADDRESS METHOD [BODY]   wirebench's protocol; --line: a line
  wireload run JOB.json                   a load that a file describes
  wireload request JOB.json               sends and checks single requests
  wireload render JOB.json                prints requests for other tools
  wireload check FILE ...                 finds mistakes in application files;
                                          --descriptors VARIANT=FILE
  wireload schema JOB.json                prints gRPC messages as descriptors
  wireload resolve FILE                   prints an application file as JSON
  wireload --version

Options:
`

// Exit codes, the same as wirebench's.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// errUsage is an error in the command line or the job.
type errUsage struct{ error }

func newUsageError(format string, values ...any) error {
	return errUsage{fmt.Errorf(format, values...)}
}

// Main runs a command and returns its exit code.
func Main(ctx context.Context, arguments []string, out, log io.Writer) int {
	err := dispatch(ctx, arguments, out, log)
	var wrong errUsage
	switch {
	case errors.Is(err, errFound):
		return exitFailed
	case errors.As(err, &wrong):
		fmt.Fprintf(log, "wireload: %v; see wireload --help\n", err)
		return exitUsage
	case err != nil:
		fmt.Fprintf(log, "wireload: %v\n", err)
		return exitFailed
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return 0
}

func dispatch(ctx context.Context, arguments []string, out, log io.Writer) error {
	if len(arguments) == 0 {
		return newUsageError("name a command: rest, grpc, socket, run, request, render, check, resolve or schema")
	}
	if slices.Contains(arguments, "--help") || slices.Contains(arguments, "-h") {
		fmt.Fprint(out, usage)
		options := new(hand).flags()
		options.SetOutput(out)
		options.PrintDefaults()
		return nil
	}
	switch command, rest := arguments[0], arguments[1:]; command {
	case "rest", "grpc", "socket":
		return runByHand(ctx, command, rest, out)
	case "run":
		return runJob(ctx, rest, log)
	case "request":
		return requestJob(ctx, rest, out)
	case "render":
		return renderJob(rest, out)
	case "schema":
		return printSchema(ctx, rest, out)
	case "check", "resolve":
		return checkFiles(command, rest, out, log)
	case "--version":
		_, err := fmt.Fprintln(out, Version)
		return err
	default:
		return newUsageError("there is no command %q", command)
	}
}

// parse reads options, which may stand behind other arguments, and returns the others.
func parse(options *flag.FlagSet, arguments []string) (others []string, err error) {
	options.SetOutput(io.Discard)
	for len(arguments) > 0 {
		if err := options.Parse(arguments); err != nil {
			return nil, errUsage{err}
		}
		if arguments = options.Args(); len(arguments) > 0 {
			others, arguments = append(others, arguments[0]), arguments[1:]
		}
	}
	return others, nil
}

// measure runs a load and writes its histogram file, if there is a path for one.
func measure(ctx context.Context, load *engine.Load, path string) (histogram.File, error) {
	measured, err := engine.Run(ctx, load, Version)
	if err == nil && path != "" {
		err = measured.Write(path)
	}
	return measured, err
}
