// Package settings reads flags, each of which is also an environment variable.
package settings

import (
	"cmp"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	prefix           = "WIREBENCH_"
	storeURLVariable = prefix + "STORE_URL"
	portMax          = 65_535
	adminPortOffset  = 1000
	// In seconds.
	timeoutMin, timeoutMax = 0.1, 3600
)

// Settings are how a service runs.
type Settings struct {
	Transport, Runtime                                   string
	Host                                                 string
	Port, AdminPort                                      int
	Threads                                              int
	Store, StoreURL                                      string
	StoreConnections, SeedUsers                          int
	TLS                                                  *tls.Config // nil for plain text
	Security                                             string      // for the log
	StoreTimeout, ReadTimeout, IdleTimeout, DrainTimeout time.Duration
	MaxConnectionAge                                     time.Duration
}

// Program begins each line that the service logs.
func (s *Settings) Program() string { return "wirebench-go " + s.Transport }

// Parse reads the settings: a flag wins over its environment variable, which wins over the default. The defaults hold
// transport, runtime and port. With --help it writes help and returns flag.ErrHelp.
func Parse(defaults Settings, arguments []string, help io.Writer) (*Settings, error) {
	s := &defaults
	flags := flag.NewFlagSet(s.Program(), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.Host, "host", "127.0.0.1", "`address` to listen on")
	flags.IntVar(&s.Port, "port", s.Port, "port of the service; 0: a free one")
	flags.IntVar(&s.AdminPort, "admin-port", -1, "port of /livez, /readyz and /metrics; -1: port + 1000")
	runtime := flags.String("runtime", s.Runtime, "`name` of the runtime; there is one")
	workers := flags.Int("workers", 1, "processes: always 1; --threads sets its cores")
	flags.IntVar(&s.Threads, "threads", 0, "cores to use at once (GOMAXPROCS); 0: all available")
	flags.StringVar(&s.Store, "store", "memory", "memory or postgres")
	storeURLFile := flags.String("store-url-file", "", "`file` that holds the URL of postgres; else "+storeURLVariable)
	flags.IntVar(&s.StoreConnections, "store-connections", 10, "connections to postgres")
	flags.Func("store-timeout-s", "how long a statement may take (default 5)", seconds(&s.StoreTimeout, 5, timeoutMin))
	flags.IntVar(&s.SeedUsers, "seed-users", 10_000, "users that a new store starts with; with postgres, wirebench-store says")
	cert := flags.String("tls-cert", "", "PEM `file` of a certificate and its chain: serve TLS")
	key := flags.String("tls-key", "", "PEM `file` of the certificate's private key, not encrypted")
	flags.Func("read-timeout-s", "how long a client may take to send a request (default 10)", seconds(&s.ReadTimeout, 10, timeoutMin))
	flags.Func("idle-timeout-s", "how long a connection may stay idle (default 75)", seconds(&s.IdleTimeout, 75, timeoutMin))
	flags.Func("drain-timeout-s", "how long requests may take at shutdown (default 10)", seconds(&s.DrainTimeout, 10, 0))
	flags.Func("max-connection-age-s", "gRPC: age at which connections end; 0: none", seconds(&s.MaxConnectionAge, 0, 0))
	var wrong error
	flags.VisitAll(func(f *flag.Flag) {
		name := prefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if text, ok := os.LookupEnv(name); ok && flags.Set(f.Name, text) != nil {
			wrong = cmp.Or(wrong, fmt.Errorf("invalid value %q for %s", text, name))
		}
	})
	if err := cmp.Or(flags.Parse(arguments), wrong); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(help, "usage: %s [--FLAG VALUE]...; --port is also %sPORT, and so on\n", s.Program(), prefix)
			flags.SetOutput(help)
			flags.PrintDefaults()
		}
		return nil, err
	}
	if s.AdminPort == -1 && s.Port == 0 {
		s.AdminPort = 0
	} else if s.AdminPort == -1 {
		s.AdminPort = s.Port + adminPortOffset
	}
	if err := cmp.Or(
		unless(flags.NArg() == 0, "unrecognized arguments: %s", strings.Join(flags.Args(), " ")),
		unless(*runtime == s.Runtime, "--runtime: '%s' is not one of %s", *runtime, s.Runtime),
		unless(s.Store == "memory" || s.Store == "postgres", "--store: '%s' is not one of memory, postgres", s.Store),
		between("--port", s.Port, 0, portMax),
		between("--admin-port", s.AdminPort, 0, portMax),
		between("--store-connections", s.StoreConnections, 1, 1000),
		unless(*workers == 1, "--workers: %d is not 1: a service in Go is one process; use --threads", *workers),
		unless((*cert == "") == (*key == ""), "--tls-cert needs --tls-key, and --tls-key --tls-cert: name both"),
	); err != nil {
		return nil, err
	}
	if s.Store == "postgres" {
		if err := s.readStoreURL(*storeURLFile); err != nil {
			return nil, err
		}
	}
	return s, s.loadTLS(*cert, *key)
}

// unless returns an error if the condition is false.
func unless(holds bool, format string, values ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, values...)
}

func between(flag string, value, least, most int) error {
	return unless(least <= value && value <= most, "%s: %d is not between %d and %d", flag, value, least, most)
}

// seconds sets a default, and returns what reads a flag's value.
func seconds(target *time.Duration, fallback, least float64) func(string) error {
	*target = time.Duration(fallback * float64(time.Second))
	return func(text string) error {
		value, err := strconv.ParseFloat(text, 64)
		*target = time.Duration(value * float64(time.Second))
		return cmp.Or(err, unless(least <= value && value <= timeoutMax, "it is not between %v and %v", least, timeoutMax))
	}
}

// readStoreURL reads the URL from a file or the environment. Errors don't quote it: it holds a password.
func (s *Settings) readStoreURL(file string) error {
	s.StoreURL = os.Getenv(storeURLVariable)
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("--store-url-file: %w", err)
		}
		s.StoreURL = strings.TrimSpace(string(content))
	}
	const form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
	if s.StoreURL == "" {
		return fmt.Errorf("the store postgres needs a URL: set %s=%s, or name a file that holds it with --store-url-file",
			storeURLVariable, form)
	}
	parsed, err := url.Parse(s.StoreURL)
	wellFormed := err == nil && strings.HasPrefix(parsed.Scheme, "postgres") && len(parsed.Path) > len("/")
	return unless(wellFormed, "%s: is not a URL of the form %s", cmp.Or(file, storeURLVariable), form)
}

// loadTLS reads the PEM files of a certificate and its key, if there are any.
func (s *Settings) loadTLS(certFile, keyFile string) error {
	if certFile == "" {
		return nil
	}
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("--tls-cert %s, --tls-key %s: %w", certFile, keyFile, err)
	}
	s.Security = ", TLS"
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	return nil
}
