// Command fortio sends a load by fortio's own runners, and writes down every call that they make.
//
// It is built from here for two reasons. Fortio's own command imports its script language, a module that not every Go
// proxy has. And what it keeps of a run is a histogram of coarse buckets, from which neither three digits nor the
// warm-up can be told, or a log that is written under a lock while the load is on.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"fortio.org/fortio/fgrpc"
	"fortio.org/fortio/fhttp"
	"fortio.org/fortio/periodic"
	"fortio.org/log"
)

const (
	fortio = "fortio.org/fortio"
	// Runs end by time, and each of their calls by itself.
	requestTimeout = 10 * time.Second
)

type load struct {
	target      string
	httpMethod  string
	method      string
	payload     string
	body        []byte
	connections int
	duration    time.Duration
	keepAlive   bool
	calls       string
	tls         fhttp.TLSOptions
}

func main() {
	var asked load
	flag.StringVar(&asked.target, "target", "", "`URL` to request, or host:port of a gRPC service, with https:// before it for TLS")
	flag.StringVar(&asked.httpMethod, "X", "", "HTTP method; GET, or POST with -payload")
	flag.StringVar(&asked.method, "grpc-method", "", "`Service/Method` to call, which the service describes by reflection")
	flag.StringVar(&asked.payload, "payload", "", "`file` of the JSON to send, or of the JSON form of the gRPC request")
	flag.IntVar(&asked.connections, "connections", 1, "connections, each with one request at a time")
	flag.DurationVar(&asked.duration, "duration", time.Second, "how long to send")
	flag.BoolVar(&asked.keepAlive, "keepalive", true, "keep HTTP connections")
	flag.StringVar(&asked.calls, "calls", "", "`file` to write every call to, as JSON")
	flag.StringVar(&asked.tls.CACert, "cacert", "", "`file` of the authorities to trust over https, if not the system's")
	flag.StringVar(&asked.tls.Cert, "cert", "", "`file` of a certificate to show to services that ask for one")
	flag.StringVar(&asked.tls.Key, "key", "", "`file` of its key")
	version := flag.Bool("version", false, "print fortio's version")
	flag.Parse()
	if *version {
		fmt.Println(builtVersion())
		return
	}
	if err := run(asked); err != nil {
		fmt.Fprintln(os.Stderr, "fortio:", err)
		os.Exit(1)
	}
}

func run(asked load) error {
	if asked.target == "" || asked.calls == "" || flag.NArg() > 0 {
		return errors.New("-target and -calls are needed, and nothing but flags")
	}
	// A line for each failed call would be most of the work.
	log.SetLogLevelQuiet(log.Error)
	if err := asked.readPayload(); err != nil {
		return err
	}
	kept := newCalls(asked.connections)
	err := send(asked, periodic.RunnerOptions{
		QPS:          -1, // as fast as replies come
		NumThreads:   asked.connections,
		Duration:     asked.duration,
		Out:          io.Discard,
		AccessLogger: kept,
	})
	if err != nil {
		return err
	}
	return kept.write(asked.calls)
}

func (asked *load) readPayload() error {
	if asked.payload == "" {
		return nil
	}
	var err error
	asked.body, err = os.ReadFile(asked.payload)
	// Replies that don't fit cost fortio's HTTP client their connection; an echo's is as large as what was sent.
	fhttp.BufferSizeKb += 2 * len(asked.body) / 1024
	return err
}

func send(asked load, options periodic.RunnerOptions) error {
	if asked.method != "" {
		_, err := fgrpc.RunGRPCTest(&fgrpc.GRPCRunnerOptions{
			RunnerOptions: options,
			Destination:   asked.target,
			GrpcMethod:    asked.method,
			Payload:       string(asked.body),
			TLSOptions:    asked.tls,
		})
		return err
	}
	http := fhttp.HTTPOptions{HTTPReqTimeOut: requestTimeout, DisableKeepAlive: !asked.keepAlive}
	http.Init(asked.target)
	http.TLSOptions = asked.tls
	http.MethodOverride = asked.httpMethod
	if asked.body != nil {
		http.Payload, http.ContentType = asked.body, "application/json"
	}
	_, err := fhttp.RunHTTPTest(&fhttp.HTTPRunnerOptions{RunnerOptions: options, HTTPOptions: http})
	return err
}

func builtVersion() string {
	built, _ := debug.ReadBuildInfo()
	for _, module := range built.Deps {
		if module.Path == fortio {
			return module.Version
		}
	}
	return "unknown"
}
