// Package settings reads flags, each of which is also an environment variable.
package settings

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	environmentPrefix = "WIREBENCH_"
	portMax           = 65_535
	adminPortOffset   = 1000
	secondsMax        = 3600
)

// Transport is what differs between the three services.
type Transport struct {
	Name, Runtime string
	Port          int
}

// Settings are how a service runs.
type Settings struct {
	Transport Transport
	// What begins each line that it logs.
	Program                string
	Host                   string
	Port, AdminPort        int
	Threads                int
	Store                  string
	StoreURL               string
	StoreConnections       int
	StoreTimeout           time.Duration
	SeedUsers              int
	TLS                    *tls.Config // nil for plain text
	BodyBytesMax           int
	ReadTimeout            time.Duration
	IdleTimeout            time.Duration
	DrainTimeout           time.Duration
	MaxConnectionAge       time.Duration
	storeURLFile           string
	tlsCert, tlsKey, tlsCA string
}

// Parse reads the settings: a flag wins over its environment variable, which wins over the default. With --help it
// writes help and returns flag.ErrHelp.
func Parse(transport Transport, arguments []string, help io.Writer) (*Settings, error) {
	s := &Settings{Transport: transport, Program: "wirebench-go " + transport.Name}
	flags := flag.NewFlagSet(s.Program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVar(&s.Host, "host", "127.0.0.1", "`address` to listen on")
	flags.IntVar(&s.Port, "port", transport.Port, "port of the service; 0: a free one")
	flags.IntVar(&s.AdminPort, "admin-port", -1, "port of /livez, /readyz and /metrics; -1: port + 1000")
	runtime := flags.String("runtime", transport.Runtime, "`name` of the runtime; there is one")
	workers := flags.Int("workers", 1, "processes; there is one, which uses as many cores as --threads says")
	flags.IntVar(&s.Threads, "threads", 0, "cores to use at once (GOMAXPROCS); 0: all that it may")
	flags.StringVar(&s.Store, "store", "memory", "memory or postgres")
	flags.StringVar(&s.storeURLFile, "store-url-file", "", "`file` that holds the URL of postgres; else "+storeURLVariable)
	flags.IntVar(&s.StoreConnections, "store-connections", 10, "connections to postgres")
	storeTimeout := flags.Float64("store-timeout-s", 5, "how long to wait for a connection, and for a statement")
	flags.IntVar(&s.SeedUsers, "seed-users", 10_000, "users that the store memory starts with")
	flags.StringVar(&s.tlsCert, "tls-cert", "", "PEM `file` of a certificate and its chain: serve TLS")
	flags.StringVar(&s.tlsKey, "tls-key", "", "PEM `file` of the certificate's private key, not encrypted")
	flags.StringVar(&s.tlsCA, "tls-client-ca", "", "PEM `file` of authorities that clients need a certificate of")
	flags.IntVar(&s.BodyBytesMax, "body-bytes-max", 4<<20, "largest request")
	readTimeout := flags.Float64("read-timeout-s", 10, "how long a client may take to send a request")
	idleTimeout := flags.Float64("idle-timeout-s", 75, "how long a connection may stay without a request")
	drainTimeout := flags.Float64("drain-timeout-s", 10, "how long requests in flight may take at shutdown")
	maxAge := flags.Float64("max-connection-age-s", 0, "gRPC: how long a connection lives; 0: for ever")
	if err := setFromEnvironment(flags); err != nil {
		return nil, err
	}
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(help, "usage: %s [--FLAG VALUE]...\n", s.Program)
			flags.SetOutput(help)
			flags.PrintDefaults()
			fmt.Fprintf(help, "Each flag is also an environment variable: --port is %s.\n", variable("port"))
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unrecognized arguments: %s", strings.Join(flags.Args(), " "))
	}
	if s.AdminPort == -1 && s.Port == 0 {
		s.AdminPort = 0
	} else if s.AdminPort == -1 {
		s.AdminPort = s.Port + adminPortOffset
	}
	if err := errors.Join(
		choice("runtime", *runtime, transport.Runtime), choice("store", s.Store, "memory", "postgres"),
		between("port", s.Port, 0, portMax), between("admin-port", s.AdminPort, 0, portMax),
		between("workers", *workers, 1, 64), between("threads", s.Threads, 0, 1024),
		between("store-connections", s.StoreConnections, 1, 1000), between("seed-users", s.SeedUsers, 0, 1_000_000),
		between("body-bytes-max", s.BodyBytesMax, 1024, 1<<30),
		seconds("store-timeout-s", *storeTimeout, 0.1, &s.StoreTimeout),
		seconds("read-timeout-s", *readTimeout, 0.1, &s.ReadTimeout),
		seconds("idle-timeout-s", *idleTimeout, 0.1, &s.IdleTimeout),
		seconds("drain-timeout-s", *drainTimeout, 0, &s.DrainTimeout),
		seconds("max-connection-age-s", *maxAge, 0, &s.MaxConnectionAge),
	); err != nil {
		return nil, err
	}
	if *workers != 1 {
		return nil, fmt.Errorf("--workers: %d workers: a service in Go is one process; use --threads", *workers)
	}
	if s.AdminPort == s.Port && s.Port != 0 {
		return nil, errors.New("--admin-port: must differ from --port")
	}
	return s, s.readFiles()
}

// readFiles reads what flags name.
func (s *Settings) readFiles() (err error) {
	if s.Store == "postgres" {
		if s.StoreURL, err = readStoreURL(s.storeURLFile); err != nil {
			return err
		}
	}
	s.TLS, err = loadTLS(s.tlsCert, s.tlsKey, s.tlsCA)
	return err
}

func variable(name string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func setFromEnvironment(flags *flag.FlagSet) (err error) {
	flags.VisitAll(func(f *flag.Flag) {
		if text, ok := os.LookupEnv(variable(f.Name)); ok && err == nil {
			if wrong := flags.Set(f.Name, text); wrong != nil {
				err = fmt.Errorf("invalid value %q for %s: %w", text, variable(f.Name), wrong)
			}
		}
	})
	return err
}

func choice(name, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("--%s: '%s' is not one of %s", name, value, strings.Join(choices, ", "))
}

func between(name string, value, least, most int) error {
	if value >= least && value <= most {
		return nil
	}
	return fmt.Errorf("--%s: %d is not between %d and %d", name, value, least, most)
}

func seconds(name string, value, least float64, target *time.Duration) error {
	if value >= least && value <= secondsMax { // which NaN is not
		*target = time.Duration(value * float64(time.Second))
		return nil
	}
	return fmt.Errorf("--%s: %g is not between %g and %d", name, value, least, secondsMax)
}
