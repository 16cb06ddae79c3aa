// Package platform is what all three services share: settings, life, health, metrics.
package platform

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	environmentPrefix = "WIREBENCH_"
	portMax           = 65_535
	adminPortOffset   = 1000
	secondsMax        = 3600
)

// Where the metrics of CPU time and memory come from.
const (
	processTree = "process-tree"
	cgroup      = "cgroup"
)

// Defaults are what differs from one transport to the next.
type Defaults struct {
	Transport string
	Port      int
	Runtime   string
	// What clients with TLS may choose by ALPN, where they have a choice.
	Protocols []string
}

// Settings are how one service runs.
type Settings struct {
	Transport string
	// What begins every line that it logs.
	Program   string
	Host      string
	Port      int
	AdminPort int
	Runtime   string
	// Cores that it uses at once (GOMAXPROCS); 0 is all that it may.
	Threads int
	// Nil is plain text. The admin port never has TLS: it is for probes and scrapes inside.
	TLS           *tls.Config
	BodyBytesMax  int
	ReadTimeout   time.Duration
	IdleTimeout   time.Duration
	DrainPause    time.Duration
	DrainTimeout  time.Duration
	ResourcesFrom string
	// gRPC alone hands connections over by their age; 0 is for ever.
	MaxConnectionAge time.Duration

	certFile, keyFile, authoritiesFile string
}

// option is a flag that is also an environment variable: --port is WIREBENCH_PORT.
type option struct {
	name, fallback, help string
	set                  func(s *Settings, text string) error
}

func (o option) variable() string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// Parse reads the settings: a flag wins over its environment variable, which wins over the default. An error is one line
// that names the flag; with --help it is flag.ErrHelp, and help has been written.
func Parse(defaults Defaults, arguments []string, lookUp func(string) (string, bool), help io.Writer) (*Settings, error) {
	options := optionsOf(defaults)
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	texts := make([]*string, len(options))
	for i, each := range options {
		fallback := each.fallback
		if text, ok := lookUp(each.variable()); ok {
			fallback = text
		}
		texts[i] = flags.String(each.name, fallback, each.help)
	}
	s := &Settings{Transport: defaults.Transport, Program: "wirebench-go " + defaults.Transport}
	err := flags.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		writeHelp(help, s.Program, options)
		return nil, err
	case err != nil:
		return nil, err
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unrecognized arguments: %s", strings.Join(flags.Args(), " "))
	}
	for i, each := range options {
		if err := each.set(s, *texts[i]); err != nil {
			return nil, fmt.Errorf("--%s: %w", each.name, err)
		}
	}
	if err := s.complete(defaults); err != nil {
		return nil, err
	}
	return s, nil
}

// complete checks what several options say together.
func (s *Settings) complete(defaults Defaults) (err error) {
	if s.AdminPort < 0 {
		// Port 0 asks the system for a free port, and then so does the admin port.
		s.AdminPort = 0
		if s.Port > 0 {
			s.AdminPort = s.Port + adminPortOffset
		}
	}
	if s.AdminPort > portMax {
		return fmt.Errorf("--admin-port: %d is over %d; name a free port", s.AdminPort, portMax)
	}
	if s.AdminPort == s.Port && s.Port != 0 {
		return errors.New("--admin-port: must differ from --port")
	}
	s.TLS, err = loadTLS(s.certFile, s.keyFile, s.authoritiesFile, defaults.Protocols)
	return err
}

func optionsOf(defaults Defaults) []option {
	options := []option{
		{"host", "127.0.0.1", "address to listen on", text(func(s *Settings) *string { return &s.Host })},
		{"port", strconv.Itoa(defaults.Port), "port of the service; 0 takes a free one",
			integer(0, portMax, func(s *Settings) *int { return &s.Port })},
		{"admin-port", "", "port of /livez, /readyz, /metrics, /usage; default: port + 1000", setAdminPort},
		{"runtime", defaults.Runtime, "there is one",
			oneOf([]string{defaults.Runtime}, func(s *Settings) *string { return &s.Runtime })},
		{"workers", "1", "there is one: a process uses all the cores that --threads allows", checkWorkers},
		{"threads", "0", "cores that it uses at once (GOMAXPROCS); 0: all that it may",
			integer(0, 1024, func(s *Settings) *int { return &s.Threads })},
		{"store", "memory", "memory", checkStore},
		{"tls-cert", "", "PEM file of a certificate and its chain: the service then speaks TLS; the admin port stays plain HTTP",
			text(func(s *Settings) *string { return &s.certFile })},
		{"tls-key", "", "PEM file of the certificate's private key, not encrypted",
			text(func(s *Settings) *string { return &s.keyFile })},
		{"tls-client-ca", "", "PEM file of authorities: clients without a certificate that one of them has signed are refused (mutual TLS)",
			text(func(s *Settings) *string { return &s.authoritiesFile })},
		{"body-bytes-max", "4194304", "largest request",
			integer(1024, 1<<30, func(s *Settings) *int { return &s.BodyBytesMax })},
		{"read-timeout-s", "10", "how long a client may take to send a request",
			seconds(0.1, func(s *Settings) *time.Duration { return &s.ReadTimeout })},
		{"idle-timeout-s", "75", "how long a connection may stay without a request",
			seconds(0.1, func(s *Settings) *time.Duration { return &s.IdleTimeout })},
		{"drain-pause-s", "0.5", "how long to go on serving after readiness goes off",
			seconds(0, func(s *Settings) *time.Duration { return &s.DrainPause })},
		{"drain-timeout-s", "10", "how long requests in flight may take to finish",
			seconds(0, func(s *Settings) *time.Duration { return &s.DrainTimeout })},
		{"resources-from", processTree, "where the metrics of CPU and memory come from: process-tree or cgroup, which in a container is right",
			oneOf([]string{processTree, cgroup}, func(s *Settings) *string { return &s.ResourcesFrom })},
	}
	if defaults.Transport == "grpc" {
		options = append(options, option{
			"max-connection-age-s", "0", "how long a connection lives before its client is told to open another; 0: for ever",
			seconds(0, func(s *Settings) *time.Duration { return &s.MaxConnectionAge }),
		})
	}
	return options
}

func writeHelp(to io.Writer, program string, options []option) {
	fmt.Fprintf(to, "usage: %s [--OPTION VALUE]...\n\nwirebench's application in Go.\n\noptions:\n", program)
	for _, each := range options {
		fmt.Fprintf(to, "  --%-22s %s", each.name, each.help)
		if each.fallback != "" {
			fmt.Fprintf(to, " (default: %s)", each.fallback)
		}
		fmt.Fprintln(to)
	}
	fmt.Fprintf(to, "\nEach flag is also an environment variable: --port is %sPORT.\n", environmentPrefix)
}

func setAdminPort(s *Settings, value string) error {
	if value == "" {
		s.AdminPort = -1 // to be chosen by the port
		return nil
	}
	return integer(0, portMax, func(s *Settings) *int { return &s.AdminPort })(s, value)
}

func checkWorkers(_ *Settings, value string) error {
	var workers int
	if err := integer(1, 64, func(*Settings) *int { return &workers })(nil, value); err != nil {
		return err
	}
	if workers != 1 {
		return fmt.Errorf("%d workers: one process in Go uses many cores, and there is no other; use --threads", workers)
	}
	return nil
}

func checkStore(_ *Settings, value string) error {
	if value != "memory" {
		return fmt.Errorf("no store '%s': in Go there is memory only", value)
	}
	return nil
}

func text(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		*field(s) = value
		return nil
	}
}

func integer(least, most int, field func(*Settings) *int) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		number, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("'%s' is not a whole number", value)
		}
		if number < least || number > most {
			return fmt.Errorf("%d is not between %d and %d", number, least, most)
		}
		*field(s) = number
		return nil
	}
}

func seconds(least float64, field func(*Settings) *time.Duration) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("'%s' is not a number of seconds", value)
		}
		if !(number >= least && number <= secondsMax) { // so that NaN is refused too
			return fmt.Errorf("%s is not between %g and %d", value, least, secondsMax)
		}
		*field(s) = time.Duration(number * float64(time.Second))
		return nil
	}
}

func oneOf(choices []string, field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		if !slices.Contains(choices, value) {
			return fmt.Errorf("'%s' is not one of %s", value, strings.Join(choices, ", "))
		}
		*field(s) = value
		return nil
	}
}
