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

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/rest"
	"wirebench.dev/services/internal/rpc"
	"wirebench.dev/services/internal/settings"
	"wirebench.dev/services/internal/socket"
)

// server serves a transport.
type server interface {
	// Serve accepts connections until the listener is closed.
	Serve(listener net.Listener) error
	// Shutdown waits for requests in flight until the context ends.
	Shutdown(ctx context.Context)
}

var transports = map[string]settings.Settings{
	"rest":   {Transport: "rest", Runtime: "net-http", Port: 5000},
	"grpc":   {Transport: "grpc", Runtime: "grpc-go", Port: 50051},
	"socket": {Transport: "socket", Runtime: "goroutines", Port: 9000},
}

func newServer(config *settings.Settings, app *application.Application, requests *metrics.Requests) server {
	switch config.Transport {
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
	if len(os.Args) < 2 || transports[os.Args[1]].Transport == "" {
		log.Print("wirebench-go: error: name a transport: wirebench-go rest|grpc|socket [--help]")
		os.Exit(2)
	}
	config, err := settings.Parse(transports[os.Args[1]], os.Args[2:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		log.Printf("wirebench-go %s: error: %v", os.Args[1], err)
		os.Exit(2)
	}
	log.SetPrefix(config.Program() + ": ")
	if err := serve(config); err != nil {
		log.Print(strings.ReplaceAll(err.Error(), "\n\t", " ")) // pgx has a line for each attempt
		os.Exit(1)
	}
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
	adminListener, err := listen(config.Host, config.AdminPort)
	if err != nil {
		return err
	}
	store, err := application.OpenStore(context.Background(), config)
	if err != nil {
		return fmt.Errorf("can't use the store: %w", err)
	}
	defer store.Close()
	registry := prometheus.NewRegistry()
	metrics.RegisterService(registry, config.Transport, config.Runtime, config.Store)
	requests := metrics.NewRequests(registry, config.Transport)
	service := newServer(config, application.New(stopping, store), requests)
	admin := metrics.NewAdmin(registry, func(ctx context.Context) error {
		if stopping.Err() != nil {
			return errors.New("the service is stopping")
		}
		return store.Check(ctx)
	})
	defer admin.Close()
	ended := make(chan error, 2)
	go func() { ended <- service.Serve(listener) }()
	go func() { ended <- admin.Serve(adminListener) }()
	log.Printf("listening on %s (%s, GOMAXPROCS %d, store %s%s); admin on %s", listener.Addr(), config.Runtime,
		runtime.GOMAXPROCS(0), config.Store, config.Security, adminListener.Addr())
	select {
	case err := <-ended:
		return err
	case <-stopping.Done():
	}
	log.Print("stopping: finishing requests in flight")
	_ = listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), config.DrainTimeout)
	defer cancel()
	service.Shutdown(ctx)
	return nil
}

func listen(host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("can't listen on %s: %w; choose another with --host, --port, --admin-port", address, err)
	}
	return listener, nil
}
