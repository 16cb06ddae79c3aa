package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/grpc"
	"wirebench.dev/wireload/transport/rest"
	"wirebench.dev/wireload/transport/socket"
)

// Job is a load as a file describes it; wireload/README.md says what its fields mean. Times are seconds.
type Job struct {
	engine.Load

	Application string          `json:"application"`
	Variant     string          `json:"variant"`
	Descriptors string          `json:"descriptors"`
	Requests    request.Options `json:"requests"`

	WarmupS  float64 `json:"warmup_s"`
	WindowS  float64 `json:"window_s"`
	TimeoutS float64 `json:"timeout_s"`
	H2C      bool    `json:"h2c"`

	TLS *jobTLS `json:"tls"`

	Live   *jobLive `json:"live"`
	Output string   `json:"output"`
	ByDue  bool     `json:"by_due"`

	RequestsEach int `json:"requests_each"`

	application *request.Application
}

type jobTLS struct {
	Authority string `json:"authority"`
}

type jobLive struct {
	URL    string            `json:"url"`
	Labels map[string]string `json:"labels"`
}

// readJob reads the job file that a command has as its only argument, and the job's application.
func readJob(command string, arguments []string) (*Job, error) {
	job := &Job{Load: engine.Load{Users: 1, CheckEvery: 100}, TimeoutS: 10, WindowS: 1.5, RequestsEach: 1}
	if err := readJSON(command, arguments, job); err != nil {
		return nil, err
	}
	if err := job.prepare(command); err != nil {
		return nil, newUsageError("%s: %w", arguments[0], err)
	}
	var descriptors []byte
	var err error
	if job.Descriptors != "" {
		if descriptors, err = contract.ReadFile(job.Descriptors); err != nil {
			return nil, err
		}
	}
	if job.application, err = request.Load(job.Application, job.Variant, descriptors); err != nil {
		return nil, fmt.Errorf("%s: %w", arguments[0], err)
	}
	return job, nil
}

func readJSON(command string, arguments []string, job any) error {
	if len(arguments) != 1 {
		return newUsageError("%s wants one job file", command)
	}
	text, err := contract.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(job); err != nil {
		return newUsageError("%s: %w", arguments[0], err)
	}
	return nil
}

// prepare validates a job, and completes its requests.
func (j *Job) prepare(command string) error {
	j.Requests.Users = max(j.Users, j.UsersMax)
	j.Requests.Calls, j.Requests.WarmupCalls = j.Calls, j.WarmupCalls
	isRender, isREST, isGRPC := command == "render", j.Requests.Transport == "rest", j.Requests.Transport == "grpc"
	for _, each := range []struct {
		isBroken bool
		rule     string
	}{
		{len(j.Addresses) == 0 && !isRender, "addresses are missing"},
		{j.Output == "" && command == "run", "output is missing"},
		{!isREST && !isGRPC && j.Requests.Transport != "socket", fmt.Sprintf("transport must be rest, grpc or socket, not %q", j.Requests.Transport)},
		{j.Users < 1 || j.Requests.Users > 100_000, "concurrency must be at least 1, and concurrency_max and it at most 100000"},
		{j.WindowS <= 0 || j.WarmupS < 0 || j.TimeoutS <= 0, "window and timeout must be positive, and the warm-up not negative"},
		{min(j.RatePerS, int64(j.Calls), int64(j.WarmupCalls), int64(j.SpawnRatePerS), int64(j.CheckEvery)) < 0,
			"rates and numbers of calls must not be negative"},
		{j.RatePerS > 0 && j.Calls > 0 || (j.RatePerS > 0 || j.Calls > 0) && j.Arrivals != nil, "rate_per_s, arrivals and calls exclude each other"},
		{j.Calls > 0 && j.WarmupS > 0, "warmup_s excludes calls; use warmup_calls"},
		{j.RequestsEach < 1 || j.RequestsEach > 1000 && !isRender, "requests_each must be from 1 to 1000"},
		{j.Calls > histogram.CallsMax/max(1, j.Users), fmt.Sprintf("calls of all users together must not be more than %d", histogram.CallsMax)},
		{j.H2C && (!isREST || j.TLS != nil), "h2c is for rest, and without TLS"},
		{j.Connections < 0 || j.Connections > j.Users, fmt.Sprintf("connections must be from 1 to the %d users", j.Users)},
		{j.Connections > 0 && !isGRPC && !j.H2C, "connections are shared over grpc and h2c: HTTP/1.1 and the socket have one request at a time on each"},
		{j.Connections > 0 && j.Reopen, "connections that are shared exclude reopen"},
	} {
		if each.isBroken {
			return errors.New(each.rule)
		}
	}
	return nil
}

func runJob(ctx context.Context, arguments []string, log io.Writer) error {
	job, err := readJob("run", arguments)
	if err != nil {
		return err
	}
	load, err := job.load()
	if err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	var first sync.Once
	load.OnMismatch = func(operation string, err error) {
		first.Do(func() { fmt.Fprintf(log, "wrong content: %s: %s\n", operation, err) })
	}
	measured, err := measure(ctx, load, job.Output)
	if err != nil {
		return err
	}
	for _, each := range measured.Errors {
		fmt.Fprintf(log, "failed: %s: %s (%d)\n", each.Code, each.Message, each.Count)
	}
	if load.Live != nil && load.Live.Problem != nil {
		fmt.Fprintln(log, load.Live.Problem)
	}
	return nil
}

// load returns the load that a job describes.
func (j *Job) load() (*engine.Load, error) {
	load := &j.Load
	load.Measured = histogram.Options{
		Warmup: seconds(j.WarmupS), Window: seconds(j.WindowS), ByDue: j.ByDue, Calls: j.Calls * j.Users,
	}
	load.Duration = load.Measured.Warmup + load.Measured.Window
	if j.Live != nil {
		load.Live = live.NewPublisher(j.Live.URL, j.Requests.Transport, j.Live.Labels)
	}
	j.Requests.Wait = load.Barrier.Wait
	workload, err := j.application.Compile(j.Requests)
	if err != nil {
		return nil, errUsage{err}
	}
	load.NewSource = workload.NewSource
	return load, j.connect()
}

// connect has the load use the job's transport.
func (j *Job) connect() (err error) {
	load := &j.Load
	load.Timeout = seconds(j.TimeoutS)
	load.NewClient = func(address string) transport.Client {
		host := strings.TrimSuffix(address, map[bool]string{false: ":80", true: ":443"}[j.TLS != nil]) // As clients name it.
		switch {
		case j.H2C:
			return rest.NewH2C(host)
		case j.Requests.Transport == "rest":
			return rest.New(host, j.Reopen)
		case j.Requests.Transport == "grpc":
			return grpc.New(address, j.TLS != nil, load.Timeout)
		}
		return socket.New(j.Requests.Codec == "protobuf")
	}
	if j.TLS != nil {
		load.TLS, err = transport.NewTLS(j.TLS.Authority, j.Requests.Transport == "grpc")
	}
	return err
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }
