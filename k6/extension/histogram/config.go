package histogram

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// config is what stands behind `--out wirebench=`.
type config struct {
	path   string
	warmup time.Duration
	window time.Duration
}

// parseConfig reads `path=FILE,warmup=500ms,window=1500ms`.
func parseConfig(argument string) (config, error) {
	var parsed config
	for _, part := range strings.Split(argument, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "path":
			parsed.path = value
		case "warmup":
			parsed.warmup, err = time.ParseDuration(value)
		case "window":
			parsed.window, err = time.ParseDuration(value)
		default:
			err = errors.New("there are path, warmup and window")
		}
		if err != nil {
			return config{}, fmt.Errorf("--out wirebench: %q: %w", part, err)
		}
	}
	switch {
	case parsed.path == "":
		return config{}, errors.New("--out wirebench: path=FILE is missing")
	case parsed.warmup < 0:
		return config{}, errors.New("--out wirebench: warmup must not be negative")
	case parsed.window <= 0:
		return config{}, errors.New("--out wirebench: window=DURATION must be given, and be positive")
	}
	return parsed, nil
}
