// Command k6 is k6 with what wirebench adds to it: a client of the socket protocol, a reader of streams
// on all transports, protobuf for HTTP, an executor that tells requests when they were due, and an output
// that folds all samples into one histogram file.
package main

import (
	"go.k6.io/k6/cmd"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/output"
	"wirebench.dev/k6/arrivals"
	"wirebench.dev/k6/codec"
	"wirebench.dev/k6/histogram"
	"wirebench.dev/k6/load"
	"wirebench.dev/k6/socket"
	"wirebench.dev/k6/stream"
)

func init() {
	modules.Register(socket.Name, socket.New())
	modules.Register(codec.Name, codec.New())
	modules.Register(load.Name, load.New())
	arrivals.Register()
	modules.Register(stream.Name, stream.New())
	output.RegisterExtension(histogram.Name, histogram.New)
}

func main() { cmd.Execute() }
