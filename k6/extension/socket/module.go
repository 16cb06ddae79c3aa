// Package socket is the JavaScript module k6/x/wirebench/socket: a client of the socket protocol
// (proto/socket.md) for k6 scripts, in the manner of k6's own net/grpc.
//
//	import socket from 'k6/x/wirebench/socket';
//	const client = new socket.Client({ codec: 'json', timeout: '10s' });
//	export default function () {
//	  client.connected || client.connect('127.0.0.1:9000');
//	  const reply = client.call('users.get', { id: 1000001 });
//	  reply.status === 0 && reply.json().name;
//	}
package socket

import (
	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/metrics"
	"wirebench.dev/k6/contract"
	"wirebench.dev/k6/sample"
)

// Name is what scripts import.
const Name = "k6/x/wirebench/socket"

// Module is what k6 keeps once a process.
type Module struct {
	schemas contract.Cache
}

// New returns the module to register with k6.
func New() *Module { return &Module{} }

// NewModuleInstance is called by k6 once for each VU.
func (m *Module) NewModuleInstance(vu modules.VU) modules.Instance {
	duration, err := vu.InitEnv().Registry.NewMetric(sample.SocketDurationMetric, metrics.Trend, metrics.Time)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	return &instance{module: m, vu: vu, duration: duration}
}

type instance struct {
	module   *Module
	vu       modules.VU
	duration *metrics.Metric
}

// Exports makes Client available both as socket.Client and by name.
func (i *instance) Exports() modules.Exports {
	named := map[string]any{"Client": i.newClient}
	return modules.Exports{Default: named, Named: named}
}

func (i *instance) newClient(call sobek.ConstructorCall) *sobek.Object {
	runtime := i.vu.Runtime()
	settings, err := parseClientSettings(runtime, call.Argument(0))
	if err != nil {
		common.Throw(runtime, err)
	}
	object, err := scriptObject(runtime, &Client{instance: i, settings: settings})
	if err != nil {
		common.Throw(runtime, err)
	}
	return object
}

// scriptObject returns the client as scripts see it. Handing the Go value over would do, but then every
// `client.call` looks the method up and wraps it again, which is a tenth of what a request costs.
func scriptObject(runtime *sobek.Runtime, client *Client) (*sobek.Object, error) {
	object := runtime.NewObject()
	for name, method := range map[string]any{
		"load":    client.Load,
		"connect": client.Connect,
		"close":   client.Close,
		"call": func(call sobek.FunctionCall) sobek.Value {
			reply, err := client.Call(call.Argument(0).String(), call.Argument(1), call.Argument(2))
			if err != nil {
				common.Throw(runtime, err)
			}
			return runtime.ToValue(reply)
		},
	} {
		if err := object.Set(name, method); err != nil {
			return nil, err
		}
	}
	connected := runtime.ToValue(func(sobek.FunctionCall) sobek.Value { return runtime.ToValue(client.Connected()) })
	return object, object.DefineAccessorProperty("connected", connected, nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
}
