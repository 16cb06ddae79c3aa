// Wirebench-go is wirebench's application in Go, behind one transport: wirebench-go rest|grpc|socket.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"wirebench.dev/services/internal/platform"
	"wirebench.dev/services/internal/rest"
	"wirebench.dev/services/internal/rpc"
	"wirebench.dev/services/internal/socket"
)

// Exit statuses.
const (
	failed = 1
	misuse = 2
)

type service struct {
	defaults  platform.Defaults
	newServer func(*platform.Worker) platform.Server
}

func main() {
	log.SetFlags(0)
	os.Exit(run(os.Args[1:]))
}

func run(arguments []string) int {
	services := map[string]service{
		"rest":   {rest.Defaults, rest.New},
		"grpc":   {rpc.Defaults, rpc.New},
		"socket": {socket.Defaults, socket.New},
	}
	if len(arguments) == 0 {
		fmt.Fprintln(os.Stderr, "wirebench-go: error: name a transport: wirebench-go rest|grpc|socket [--help]")
		return misuse
	}
	chosen, ok := services[arguments[0]]
	if !ok {
		fmt.Fprintf(os.Stderr, "wirebench-go: error: no transport %q: name rest, grpc or socket\n", arguments[0])
		return misuse
	}
	settings, err := platform.Parse(chosen.defaults, arguments[1:], os.LookupEnv, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "wirebench-go %s: error: %v\n", arguments[0], err)
		return misuse
	}
	log.SetPrefix(settings.Program + ": ")
	if err := platform.Run(settings, chosen.newServer); err != nil {
		log.Print(err)
		return failed
	}
	return 0
}
