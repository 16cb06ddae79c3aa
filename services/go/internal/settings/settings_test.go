package settings

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func parse(arguments ...string) (*Settings, error) {
	return Parse(Settings{Transport: "grpc", Runtime: "grpc-go", Port: 50051}, arguments, io.Discard)
}

// A flag wins over its environment variable, which wins over the default; the admin port follows the port.
func TestSources(t *testing.T) {
	t.Setenv("WIREBENCH_PORT", "7000")
	t.Setenv("WIREBENCH_IDLE_TIMEOUT_S", "2.5")
	s, err := parse("--port", "8000")
	if err != nil {
		t.Fatal(err)
	}
	if s.Port != 8000 || s.AdminPort != 9000 || s.IdleTimeout != 2500*time.Millisecond || s.ReadTimeout != 10*time.Second {
		t.Errorf("%+v", s)
	}
	if s, err = parse("--port", "0"); err != nil || s.AdminPort != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// What is wrong is named by its flag, or by its variable.
func TestMistakes(t *testing.T) {
	for arguments, expected := range map[string]string{
		"--port 65536":                        "--port: 65536 is not between 0 and 65535",
		"--port 65000":                        "--admin-port: 66000 is not between 0 and 65535",
		"--store-connections 0":               "--store-connections: 0 is not between 1 and 1000",
		"--store-timeout-s 1m":                "invalid value \"1m\" for flag -store-timeout-s",
		"--store-timeout-s 0":                 "invalid value \"0\" for flag -store-timeout-s: it is not between 0.1 and 3600",
		"--idle-timeout-s nan":                "invalid value \"nan\" for flag -idle-timeout-s",
		"--max-connection-age-s x":            "invalid value \"x\" for flag -max-connection-age-s",
		"--read-timeout-s -1":                 "invalid value \"-1\" for flag -read-timeout-s",
		"--runtime sync":                      "--runtime: 'sync' is not one of grpc-go",
		"--workers 2":                         "--workers: 2 is not 1",
		"again":                               "unrecognized arguments: again",
		"--store-url-file x --store postgres": "--store-url-file: open x: no such file or directory",
	} {
		if _, err := parse(strings.Fields(arguments)...); err == nil || !strings.HasPrefix(err.Error(), expected) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if _, err := parse("--help"); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	t.Setenv("WIREBENCH_THREADS", "many")
	if _, err := parse(); err == nil || !strings.HasPrefix(err.Error(), `invalid value "many" for WIREBENCH_THREADS`) {
		t.Error(err)
	}
}
