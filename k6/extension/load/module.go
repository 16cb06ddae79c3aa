// Package load is the JavaScript module k6/x/wirebench/load: what a benchmark has to know about a
// request that k6 doesn't record by itself.
//
//	import load from 'k6/x/wirebench/load';
//	export default function () {
//	  load.due(); // The requests of this iteration were due at its scheduled moment.
//	  …
//	}
package load

import (
	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/barrier"
	"wirebench.dev/k6/sample"
	"wirebench.dev/wireload/secure"
	"wirebench.dev/wireload/variable"
)

// Name is what scripts import.
const Name = "k6/x/wirebench/load"

// Module is what k6 keeps once a process.
type Module struct{}

// New returns the module to register with k6.
func New() *Module { return &Module{} }

// NewModuleInstance is called by k6 once for each VU.
func (*Module) NewModuleInstance(vu modules.VU) modules.Instance {
	registry := vu.InitEnv().Registry
	failed, err := registry.NewMetric(sample.FailedDurationMetric, metrics.Trend, metrics.Time)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	reasons, err := registry.NewMetric(sample.ReasonsMetric, metrics.Counter)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	return &instance{vu: vu, failed: failed, reasons: reasons}
}

type instance struct {
	vu      modules.VU
	failed  *metrics.Metric
	reasons *metrics.Metric
}

// Exports makes the functions available both as load.due and by name.
func (i *instance) Exports() modules.Exports {
	named := map[string]any{
		// Called at every iteration, and this type of function without reflection.
		"due": func(sobek.FunctionCall) sobek.Value {
			i.due()
			return sobek.Undefined()
		},
		"meet":         func(users int) { barrier.Wait(i.vu.Context(), users) },
		"finishWarmup": func(users int) { barrier.FinishWarmup(i.vu.Context(), users) },
		"opened":       i.opened,
		"failed":       i.failedRequest,
		"explain":      i.explain,
		"secure":       i.secure,
		// Scripts see no environment: their own settings may have the same names.
		"variable": variable.LookUp,
	}
	return modules.Exports{Default: named, Named: named}
}

// secure has the VU's connections trust the authorities in a PEM text, or those of the system if it is empty, and their
// handshakes counted. To be called before the first connection.
func (i *instance) secure(authorities string) error {
	return secure.Prepare(i.state().TLSConfig, []byte(authorities))
}

func (i *instance) state() *lib.State {
	state := i.vu.State()
	if state == nil {
		common.Throw(i.vu.Runtime(), common.NewInitContextError("load works in VU code only, not in the init context"))
	}
	return state
}
