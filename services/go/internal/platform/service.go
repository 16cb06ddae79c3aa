package platform

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
)

// Server is what carries one transport.
type Server interface {
	// Serve takes connections from the listener until Shutdown is called, and then returns nil.
	Serve(listener net.Listener) error
	// Shutdown takes no further work and finishes what is in flight, or cuts it off when the context ends.
	Shutdown(ctx context.Context)
}

// Worker is what a server gets.
type Worker struct {
	Settings    *Settings
	Application *domain.Application
	Recorder    *Recorder
	// Done when the service is told to stop and its pause is over: what goes on for long ends then.
	Stopping context.Context
}

// Run serves until SIGTERM or SIGINT, and then stops in order: readiness off, a pause, no new work, what is in flight
// finished. A further signal ends the pause.
func Run(settings *Settings, newServer func(*Worker) Server) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if settings.Threads > 0 {
		runtime.GOMAXPROCS(settings.Threads)
	}
	if settings.ResourcesFrom == cgroup && findControlGroup(procSelf).cpuSeconds() == nil {
		return errors.New("no cgroup tells the CPU time here; use --resources-from process-tree")
	}
	listener, err := listen(settings.Host, settings.Port)
	if err != nil {
		return err
	}
	defer listener.Close()
	adminListener, err := listen(settings.Host, settings.AdminPort)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(newResources(settings))
	admin := newAdmin(settings, registry)
	defer admin.close()
	counted := append(slices.Collect(maps.Keys(operations.ByName)), operations.StreamTransactions.Name)
	stopping, stop := context.WithCancel(context.Background())
	defer stop()
	server := newServer(&Worker{
		Settings:    settings,
		Application: domain.NewApplication(),
		Recorder:    NewRecorder(registry, settings.Transport, counted),
		Stopping:    stopping,
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	go admin.serve(adminListener)
	admin.ready.Store(true)
	log.Print(announcement(settings, listener.Addr(), adminListener.Addr()))
	select {
	case err := <-served:
		return fmt.Errorf("can't serve any more: %w", err)
	case <-signals:
	}
	admin.ready.Store(false)
	log.Print("stopping: no longer ready, finishing what is in flight")
	select {
	case <-signals:
	case <-time.After(settings.DrainPause):
	}
	stop()
	ctx, cancel := context.WithTimeout(context.Background(), settings.DrainTimeout)
	defer cancel()
	server.Shutdown(ctx)
	return nil
}

func announcement(s *Settings, service, admin net.Addr) string {
	kept := "store memory"
	switch {
	case s.TLS == nil:
	case s.TLS.ClientCAs != nil:
		kept += ", mutual TLS"
	default:
		kept += ", TLS"
	}
	return fmt.Sprintf("listening on %s (%s, GOMAXPROCS %d, %s); admin on %s",
		service, s.Runtime, runtime.GOMAXPROCS(0), kept, admin)
}
