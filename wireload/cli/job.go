package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/histogram"
	"wirebench.dev/wireload/live"
	"wirebench.dev/wireload/request"
	"wirebench.dev/wireload/schedule"
	"wirebench.dev/wireload/variable"
)

const (
	defaultWarmupS = 0.5
	// connectionsMax bounds the memory that connections take before the first request is sent.
	connectionsMax = 100_000
)

// Job is a load as a file describes it; wireload/README.md says what its fields mean. Times are seconds.
type Job struct {
	Addresses   []string        `json:"addresses"`
	Application string          `json:"application"`
	Variant     string          `json:"variant"`
	Descriptors string          `json:"descriptors"`
	Requests    request.Options `json:"requests"`

	Concurrency    int      `json:"concurrency"`
	ConcurrencyMax int      `json:"concurrency_max"`
	Connections    int      `json:"connections"`
	RatePerS       int64    `json:"rate_per_s"`
	Arrivals       string   `json:"arrivals"`
	Calls          int      `json:"calls"`
	WarmupCalls    int      `json:"warmup_calls"`
	SpawnRatePerS  float64  `json:"spawn_rate_per_s"`
	WarmupS        *float64 `json:"warmup_s"`
	WindowS        float64  `json:"window_s"`
	TimeoutS       float64  `json:"timeout_s"`
	Reopen         bool     `json:"reopen"`
	H2C            bool     `json:"h2c"`
	CheckEvery     int      `json:"check_every"`

	TLS        *jobTLS `json:"tls"`
	Generator  int     `json:"generator"`
	Generators int     `json:"generators"`

	Live   *jobLive `json:"live"`
	Output string   `json:"output"`
	ByDue  bool     `json:"by_due"`
	Slices int      `json:"slices"`

	RequestsEach int `json:"requests_each"`
}

type jobTLS struct {
	Authority string `json:"authority"`
}

type jobLive struct {
	URL    string            `json:"url"`
	Labels map[string]string `json:"labels"`
}

func runJob(ctx context.Context, arguments []string, log io.Writer) error {
	job, err := readJob("run", arguments)
	if err != nil {
		return err
	}
	if job.Output == "" {
		return newUsageError("%s: output is missing", arguments[0])
	}
	application, err := job.readApplication()
	if err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	load, err := job.load(application)
	if err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	load.OnMismatch = func(err error) { fmt.Fprintf(log, "wrong content: %s\n", variable.Hide(err.Error())) }
	measured, err := measure(ctx, load, job.Output)
	if err != nil {
		return err
	}
	for _, each := range measured.Errors {
		fmt.Fprintf(log, "failed: %s: %s (%d)\n", each.Code, each.Message, each.Count)
	}
	if load.Live != nil && load.Live.Problem() != nil {
		fmt.Fprintln(log, load.Live.Problem())
	}
	return nil
}

func readJob(command string, arguments []string) (*Job, error) {
	job := &Job{Concurrency: 1, TimeoutS: 10, WindowS: 1.5, CheckEvery: 100, Generators: 1, RequestsEach: 1}
	if err := readJSON(command, arguments, job); err != nil {
		return nil, err
	}
	if err := job.validate(command); err != nil {
		return nil, newUsageError("%s: %w", arguments[0], err)
	}
	return job, nil
}

// readJSON reads the job file that a command has as its only argument.
func readJSON(command string, arguments []string, job any) error {
	if len(arguments) != 1 {
		return newUsageError("%s wants one job file", command)
	}
	text, err := os.ReadFile(arguments[0])
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

func (j *Job) validate(command string) error {
	isRender := command == "render"
	for _, each := range []struct {
		isBroken bool
		rule     string
	}{
		{len(j.Addresses) == 0 && !isRender, "addresses are missing"},
		{j.Concurrency < 1 || max(j.Concurrency, j.ConcurrencyMax) > connectionsMax, "concurrency must be at least 1, and concurrency_max and it at most 100000"},
		{j.WindowS <= 0 || j.warmupS() < 0 || j.TimeoutS <= 0, "window_s and timeout_s must be positive, and warmup_s not negative"},
		{min(j.RatePerS, int64(j.Calls), int64(j.WarmupCalls), int64(j.SpawnRatePerS), int64(j.CheckEvery)) < 0, "rate_per_s, calls, warmup_calls, spawn_rate_per_s and check_every must not be negative"},
		{j.RatePerS > 0 && j.Calls > 0 || (j.RatePerS > 0 || j.Calls > 0) && j.Arrivals != "", "rate_per_s, arrivals and calls exclude each other"},
		{j.Calls > 0 && j.warmupS() > 0, "warmup_s excludes calls; use warmup_calls"},
		{j.RequestsEach < 1 || j.RequestsEach > requestsEachMax && !isRender, "requests_each must be from 1 to 1000"},
		{j.WarmupCalls > 0 && j.Calls == 0, "warmup_calls needs calls"},
		{j.Generators < 1 || j.Generator < 0 || j.Generator >= j.Generators, "generator must be from 0 to generators - 1"},
		{j.Concurrency < j.Generators, "concurrency must be at least generators"},
		{j.Slices < 0 || j.Slices > histogram.SlicesMax, fmt.Sprintf("slices must be from 0 to %d", histogram.SlicesMax)},
		{j.Calls*j.Concurrency > histogram.CallsMax, fmt.Sprintf("calls of all users together must not be more than %d", histogram.CallsMax)},
	} {
		if each.isBroken {
			return errors.New(each.rule)
		}
	}
	return nil
}

// warmupS returns how many seconds of load come before the window. A number of calls has none by default: it could end
// before its window opens.
func (j *Job) warmupS() float64 {
	switch {
	case j.WarmupS != nil:
		return *j.WarmupS
	case j.Calls > 0:
		return 0
	}
	return defaultWarmupS
}

// newLoad returns the job's load, without its requests.
func (j *Job) newLoad() (*engine.Load, error) {
	warmup, window := seconds(j.warmupS()), seconds(j.WindowS)
	load := &engine.Load{
		Addresses:     j.Addresses,
		Users:         j.Concurrency,
		UsersMax:      j.ConcurrencyMax,
		Generator:     j.Generator,
		Generators:    j.Generators,
		Calls:         j.Calls,
		WarmupCalls:   j.WarmupCalls,
		SpawnRatePerS: j.SpawnRatePerS,
		Duration:      warmup + window,
		Timeout:       seconds(j.TimeoutS),
		Reopen:        j.Reopen,
		CheckEvery:    j.CheckEvery,
		Measured: histogram.Options{
			Warmup: warmup, Window: window, ByDue: j.ByDue, Slices: j.Slices,
		},
	}
	load.Measured.Calls = j.Calls * load.OwnUsers()
	var err error
	if j.Live != nil {
		if load.Live, err = live.NewPublisher(j.Live.URL, j.Requests.Transport, j.Live.Labels); err != nil {
			return nil, errUsage{fmt.Errorf("live: %w", err)}
		}
	}
	switch {
	case j.Arrivals != "":
		load.Due, err = schedule.ReadListed(j.Arrivals)
	case j.RatePerS > 0:
		load.Due = schedule.AtRate(j.RatePerS)
	}
	return load, err
}

// load returns the load of an application.
func (j *Job) load(application *request.Application) (*engine.Load, error) {
	load, err := j.newLoad()
	if err != nil {
		return nil, err
	}
	options := j.Requests
	options.Users = max(j.Concurrency, j.ConcurrencyMax)
	options.Calls, options.WarmupCalls = j.Calls, j.WarmupCalls
	options.Wait = load.Barrier.Wait
	workload, err := application.Compile(options)
	if err != nil {
		return nil, errUsage{err}
	}
	load.NewSource = workload.NewSource
	return load, j.connect(load, workload.SendsLines())
}

func (j *Job) readApplication() (*request.Application, error) {
	var descriptors []byte
	if j.Descriptors != "" {
		var err error
		if descriptors, err = os.ReadFile(j.Descriptors); err != nil {
			return nil, err
		}
	}
	return request.Load(j.Application, j.Variant, descriptors)
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }
