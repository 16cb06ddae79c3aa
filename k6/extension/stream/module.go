// Package stream is the JavaScript module k6/x/wirebench/stream: it reads streams on any of the transports,
// and notes when each item came.
//
//	import stream from 'k6/x/wirebench/stream';
//	const client = new stream.Client({ transport: 'rest', address: '127.0.0.1:5000', timeout: '10s' });
//	export default function () {
//	  const { status, items } = client.read({ name: 'ledger', target: '/transactions/stream?limit=1000', end: 'end' });
//	}
//
// k6's own modules can't measure it: k6/http hands a reply over when the whole body is there, and
// k6/net/grpc calls JavaScript for every item.
package stream

import (
	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/sample"
)

// Name is what scripts import.
const Name = "k6/x/wirebench/stream"

// Module is what k6 keeps once a process.
type Module struct{}

// New returns the module to register with k6.
func New() *Module { return &Module{} }

// NewModuleInstance is called by k6 once for each VU.
func (*Module) NewModuleInstance(vu modules.VU) modules.Instance {
	made := &instance{vu: vu}
	for name, metric := range map[string]struct {
		into **metrics.Metric
		kind metrics.MetricType
		of   metrics.ValueType
	}{
		sample.StreamDurationMetric:   {&made.duration, metrics.Trend, metrics.Time},
		sample.StreamItemsMetric:      {&made.items, metrics.Counter, metrics.Default},
		sample.CancelledStreamsMetric: {&made.cancelled, metrics.Counter, metrics.Default},
	} {
		registered, err := vu.InitEnv().Registry.NewMetric(name, metric.kind, metric.of)
		if err != nil {
			common.Throw(vu.Runtime(), err)
		}
		*metric.into = registered
	}
	return made
}

type instance struct {
	vu                         modules.VU
	duration, items, cancelled *metrics.Metric
}

// Exports makes Client available both as stream.Client and by name.
func (i *instance) Exports() modules.Exports {
	named := map[string]any{"Client": i.newClient}
	return modules.Exports{Default: named, Named: named}
}

func (i *instance) newClient(call sobek.ConstructorCall) *sobek.Object {
	runtime := i.vu.Runtime()
	settings, err := parseSettings(runtime, call.Argument(0))
	if err != nil {
		common.Throw(runtime, err)
	}
	return runtime.ToValue(&Client{instance: i, settings: settings, wire: newWire(settings)}).ToObject(runtime)
}
