// Wirebench-go serves wirebench's application over one transport: wirebench-go rest|grpc|socket.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"wirebench.dev/services/internal/admin"
	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/rest"
	"wirebench.dev/services/internal/rpc"
	"wirebench.dev/services/internal/settings"
	"wirebench.dev/services/internal/socket"
	"wirebench.dev/services/internal/store"
)

// Exit statuses.
const (
	failed = 1
	misuse = 2
)

var errStopping = errors.New("the service is stopping")

// server serves a transport.
type server interface {
	// Serve accepts connections until Shutdown is called, and then returns nil.
	Serve(listener net.Listener) error
	// Shutdown stops accepting, and waits for requests in flight until the context ends.
	Shutdown(ctx context.Context)
}

var transports = map[string]settings.Transport{
	"rest":   {Name: "rest", Runtime: "net-http", Port: 5000},
	"grpc":   {Name: "grpc", Runtime: "grpc-go", Port: 50051},
	"socket": {Name: "socket", Runtime: "goroutines", Port: 9000},
}

func newServer(config *settings.Settings, app *application.Application, requests *metrics.Requests) server {
	switch config.Transport.Name {
	case "rest":
		return rest.New(config, app, requests)
	case "grpc":
		return rpc.New(config, app, requests)
	default:
		return socket.New(config, app, requests)
	}
}

func main() {
	log.SetFlags(0)
	os.Exit(run(os.Args[1:]))
}

func run(arguments []string) int {
	if len(arguments) == 0 || transports[arguments[0]].Name == "" {
		fmt.Fprintln(os.Stderr, "wirebench-go: error: name a transport: wirebench-go rest|grpc|socket [--help]")
		return misuse
	}
	config, err := settings.Parse(transports[arguments[0]], arguments[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(os.Stderr, "wirebench-go %s: error: %s\n", arguments[0], reason)
		return misuse
	}
	log.SetPrefix(config.Program + ": ")
	if err := serve(config); err != nil {
		log.Print(err)
		return failed
	}
	return 0
}

// serve serves until SIGTERM or SIGINT, and then shuts down: not ready, nothing accepted, requests in flight finished.
func serve(config *settings.Settings) error {
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if config.Threads > 0 {
		runtime.GOMAXPROCS(config.Threads)
	}
	listener, err := listen(config.Host, config.Port)
	if err != nil {
		return err
	}
	defer listener.Close()
	adminListener, err := listen(config.Host, config.AdminPort)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	kept, err := openStore(stopping, config, registry)
	if err != nil {
		return err
	}
	defer kept.Close()
	metrics.RegisterProcess(registry, config.Transport.Name, config.Transport.Runtime, config.Store)
	requests := metrics.NewRequests(registry, config.Transport.Name)
	service := newServer(config, application.New(stopping, kept), requests)
	adminServer := admin.New(registry, func(ctx context.Context) error {
		if stopping.Err() != nil {
			return errStopping
		}
		return kept.Check(ctx)
	})
	defer adminServer.Close()
	ended := make(chan error, 2)
	go func() { ended <- service.Serve(listener) }()
	go func() { ended <- adminServer.Serve(adminListener) }()
	log.Print(announcement(config, listener.Addr(), adminListener.Addr()))
	select {
	case err := <-ended:
		return err
	case <-stopping.Done():
	}
	log.Print("stopping: finishing requests in flight")
	ctx, cancel := context.WithTimeout(context.Background(), config.DrainTimeout)
	defer cancel()
	service.Shutdown(ctx)
	return nil
}

func openStore(ctx context.Context, config *settings.Settings, registry *prometheus.Registry) (store.Store, error) {
	if config.Store == "memory" {
		return store.NewMemory(config.SeedUsers), nil
	}
	postgres, err := store.OpenPostgres(ctx, config.StoreURL, config.StoreConnections, config.StoreTimeout)
	if err != nil {
		reason, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("can't use the store: %s", reason)
	}
	metrics.RegisterStoreWaits(registry, postgres.Waits)
	return postgres, nil
}

func listen(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := net.Listen("tcp", address)
	if err == nil {
		return listener, nil
	}
	reason := err.Error()
	if number := syscall.Errno(0); errors.As(err, &number) {
		words := number.Error() // those of strerror(3), but for the capital
		reason = strings.ToUpper(words[:1]) + words[1:]
	}
	return nil, fmt.Errorf("can't listen on %s: %s; choose another with --host, --port, --admin-port", address, reason)
}

func announcement(config *settings.Settings, service, admin net.Addr) string {
	secure := ""
	if config.TLS != nil && config.TLS.ClientCAs != nil {
		secure = ", mutual TLS"
	} else if config.TLS != nil {
		secure = ", TLS"
	}
	return fmt.Sprintf("listening on %s (%s, GOMAXPROCS %d, store %s%s); admin on %s",
		service, config.Transport.Runtime, runtime.GOMAXPROCS(0), config.Store, secure, admin)
}
