package platform

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

var grpcDefaults = Defaults{Transport: "grpc", Port: 50051, Runtime: "grpc-go"}

func parse(environment map[string]string, arguments ...string) (*Settings, error) {
	lookUp := func(name string) (string, bool) {
		text, ok := environment[name]
		return text, ok
	}
	return Parse(grpcDefaults, arguments, lookUp, io.Discard)
}

// A flag wins over its environment variable, which wins over the default; the admin port follows the port.
func TestSources(t *testing.T) {
	s, err := parse(map[string]string{"WIREBENCH_PORT": "7000", "WIREBENCH_IDLE_TIMEOUT_S": "2.5"}, "--port", "8000")
	if err != nil {
		t.Fatal(err)
	}
	if s.Port != 8000 || s.AdminPort != 9000 || s.IdleTimeout != 2500*time.Millisecond || s.ReadTimeout != 10*time.Second {
		t.Errorf("%+v", s)
	}
	if s, err = parse(nil, "--port", "0"); err != nil || s.AdminPort != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// What is wrong is named by its flag, also where it comes from the environment.
func TestMistakes(t *testing.T) {
	for arguments, expected := range map[string]string{
		"--port 65000":                    "--admin-port: 66000 is over 65535",
		"--port 5 --admin-port 5":         "--admin-port: must differ from --port",
		"--read-timeout-s NaN":            "--read-timeout-s: NaN is not between 0.1 and 3600",
		"--max-connection-age-s x":        "--max-connection-age-s: 'x' is not a number of seconds",
		"--runtime sync":                  "--runtime: 'sync' is not one of grpc-go",
		"--workers 2":                     "--workers: 2 workers: ",
		"again":                           "unrecognized arguments: again",
		"--resources-from process-treeze": "--resources-from: 'process-treeze' is not one of process-tree, cgroup",
	} {
		if _, err := parse(nil, strings.Fields(arguments)...); err == nil || !strings.HasPrefix(err.Error(), expected) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if _, err := parse(map[string]string{"WIREBENCH_THREADS": "many"}); err == nil || err.Error() != "--threads: 'many' is not a whole number" {
		t.Error(err)
	}
	if _, err := parse(nil, "--help"); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}
