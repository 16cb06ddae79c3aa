// Package arrivals is the k6 executor `wirebench-arrivals`: it starts each iteration at a moment that is
// known beforehand, either at a constant rate or at the moments of a list, and tells the iteration when
// that was.
//
// k6's own executors for arrival rates know no list, don't report when an iteration was due, and start it
// up to a millisecond late where the process is idle.
//
//	scenarios: { load: { executor: 'wirebench-arrivals', vus: 16, duration: '5s', rate: 500 } }
//	scenarios: { load: { executor: 'wirebench-arrivals', vus: 16, duration: '5s', arrivals: 'due.json' } }
package arrivals

import (
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/executor"
	"go.k6.io/k6/lib/types"
	"gopkg.in/guregu/null.v3"
	"wirebench.dev/wireload/schedule"
)

// Name is the executor's, in the options of scripts.
const Name = "wirebench-arrivals"

// Register makes the executor known to k6.
func Register() {
	lib.RegisterExecutorConfigType(Name, func(name string, rawJSON []byte) (lib.ExecutorConfig, error) {
		read := &config{BaseConfig: executor.NewBaseConfig(name, Name)}
		err := lib.StrictJSONUnmarshal(rawJSON, read)
		return read, err
	})
}

// config is the scenario as scripts write it.
type config struct {
	executor.BaseConfig
	// VUs is how many iterations there are at once at most: one that is due while all are busy is dropped.
	VUs      null.Int           `json:"vus"`
	Duration types.NullDuration `json:"duration"`
	// Rate is that of a constant rate, in iterations a second.
	Rate null.Int `json:"rate"`
	// Arrivals is a file: a JSON list of when iterations are due, in nanoseconds from the start.
	Arrivals null.String `json:"arrivals"`
}

var _ lib.ExecutorConfig = &config{}

// Validate says what is wrong with the scenario, if anything is.
func (c *config) Validate() []error {
	found := c.BaseConfig.Validate()
	if c.VUs.Int64 < 1 {
		found = append(found, errors.New("vus must be at least 1"))
	}
	if c.Duration.TimeDuration() <= 0 {
		found = append(found, errors.New("duration must be given, and be positive"))
	}
	if c.Rate.Valid == c.Arrivals.Valid {
		found = append(found, errors.New("there must be either a rate or arrivals"))
	}
	if c.Rate.Valid && c.Rate.Int64 < 1 {
		found = append(found, errors.New("rate must be at least 1"))
	}
	return found
}

// GetExecutionRequirements asks for all VUs from the start until the last iteration was let finish.
func (c *config) GetExecutionRequirements(tuple *lib.ExecutionTuple) []lib.ExecutionStep {
	return []lib.ExecutionStep{
		{TimeOffset: 0, PlannedVUs: uint64(c.vus(tuple))},
		{TimeOffset: c.Duration.TimeDuration() + c.GetGracefulStop(), PlannedVUs: 0},
	}
}

// GetDescription says in words what the scenario does.
func (c *config) GetDescription(tuple *lib.ExecutionTuple) string {
	when := fmt.Sprintf("%d iterations/s", c.Rate.Int64)
	if c.Arrivals.Valid {
		when = "iterations as listed in " + c.Arrivals.String
	}
	return fmt.Sprintf("%s for %s (%d VUs)", when, c.Duration, c.vus(tuple))
}

// HasWork says whether an instance that runs a segment of the test has a share in this scenario.
func (c *config) HasWork(tuple *lib.ExecutionTuple) bool { return c.vus(tuple) > 0 }

// NewExecutor reads the list, if there is one.
func (c *config) NewExecutor(state *lib.ExecutionState, logger *logrus.Entry) (lib.Executor, error) {
	due, err := c.schedule()
	if err != nil {
		return nil, err
	}
	return &arrivals{
		BaseExecutor: executor.NewBaseExecutor(c, state, logger),
		config:       c, state: state, schedule: due,
	}, nil
}

func (c *config) schedule() (schedule.Schedule, error) {
	if c.Arrivals.Valid {
		return schedule.ReadListed(c.Arrivals.String)
	}
	return schedule.AtRate(c.Rate.Int64), nil
}

// vus returns how many VUs this instance has.
func (c *config) vus(tuple *lib.ExecutionTuple) int64 { return tuple.ScaleInt64(c.VUs.Int64) }
