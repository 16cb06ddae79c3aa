// Wireload sends load to REST, gRPC and socket services, and measures how long their replies take.
// `wireload --help` says how.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"wirebench.dev/wireload/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
