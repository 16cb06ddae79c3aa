// Package histogram is the k6 output `--out wirebench=path=FILE,warmup=500ms,window=1500ms`: it folds
// all samples of a load into one small file, and writes snapshots of its progress into another, if asked to:
// docs/histogram-file.md describes both.
package histogram

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"go.k6.io/k6/metrics"
	"go.k6.io/k6/output"
	"wirebench.dev/wireload/histogram"
)

// Name is what stands behind --out.
const Name = "wirebench"

// Output is one output of one k6 run.
type Output struct {
	config    config
	fold      *fold
	snapshots *snapshotWriter // nil if the configuration names no snapshot file.
	temporary *os.File
}

// New makes the output from the argument of --out.
func New(params output.Params) (output.Output, error) {
	parsed, err := parseConfig(params.ConfigArgument)
	if err != nil {
		return nil, err
	}
	made := &Output{config: parsed, fold: newFold(parsed.Options)}
	if parsed.snapshot != "" {
		made.snapshots = &snapshotWriter{path: parsed.snapshot}
	}
	return made, nil
}

// Description is what k6 prints about the output.
func (o *Output) Description() string { return fmt.Sprintf("%s (%s)", Name, o.config.path) }

// Start opens the file to write to.
func (o *Output) Start() error {
	temporary, err := histogram.Create(o.config.path)
	if err != nil {
		return fmt.Errorf("--out wirebench: %w", err)
	}
	o.temporary = temporary
	return nil
}

// AddMetricSamples folds at once, on k6's own goroutine, rather than keep samples for one of ours: it
// takes a fraction of a microsecond a sample, which is what keeping them would cost, and memory can't
// grow when the processor is busy.
//
// k6 calls it every 50 ms, also without any samples.
func (o *Output) AddMetricSamples(batch []metrics.SampleContainer) {
	o.fold.add(batch)
	if o.snapshots != nil {
		o.snapshots.write(o.fold, time.Now())
	}
}

// Stop writes the file, also after an interrupt: what was measured until then counts.
func (o *Output) Stop() error {
	if o.snapshots != nil {
		o.snapshots.close()
	}
	made, err := o.fold.report(driverVersion(), time.Now())
	if err == nil {
		err = made.Write(o.temporary, o.config.path)
	}
	if err != nil {
		return fmt.Errorf("--out wirebench: %w", err)
	}
	return nil
}

// driverVersion returns the version of k6 that this program was built with.
func driverVersion() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, module := range info.Deps {
			if module.Path == "go.k6.io/k6" {
				return strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	return "unknown"
}
