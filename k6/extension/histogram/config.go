package histogram

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"wirebench.dev/wireload/histogram"
)

// config is what stands behind `--out wirebench=`.
type config struct {
	histogram.Options
	path string
	// snapshot is a file that tells each second how the load goes; empty if none is to.
	snapshot string
}

// parseConfig reads `path=FILE,warmup=500ms,window=1500ms`, and further `by=due`, `slices=50`,
// `calls=500`, `warmup_calls=100` and `snapshot=FILE`. A FILE is percent-encoded: %2C is a comma.
func parseConfig(argument string) (config, error) {
	var parsed config
	for _, part := range strings.Split(argument, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "path":
			parsed.path, err = url.PathUnescape(value)
		case "warmup":
			parsed.Warmup, err = time.ParseDuration(value)
		case "window":
			parsed.Window, err = time.ParseDuration(value)
		case "by":
			if parsed.ByDue = value == "due"; !parsed.ByDue && value != "end" {
				err = errors.New("it must be one of due, end")
			}
		case "slices":
			parsed.Slices, err = strconv.Atoi(value)
		case "calls":
			parsed.Calls, err = strconv.Atoi(value)
		case "warmup_calls":
			parsed.WarmupCalls, err = strconv.Atoi(value)
		case "snapshot":
			parsed.snapshot, err = url.PathUnescape(value)
		default:
			err = errors.New("there are path, warmup, window, by, slices, calls, warmup_calls and snapshot")
		}
		if err != nil {
			return config{}, fmt.Errorf("--out wirebench: %q: %w", part, err)
		}
	}
	switch {
	case parsed.path == "":
		return config{}, errors.New("--out wirebench: path=FILE is missing")
	case parsed.Warmup < 0:
		return config{}, errors.New("--out wirebench: warmup must not be negative")
	case parsed.Window <= 0:
		return config{}, errors.New("--out wirebench: window=DURATION must be given, and be positive")
	case parsed.Slices < 0 || parsed.Slices > histogram.SlicesMax:
		return config{}, fmt.Errorf("--out wirebench: slices must be a number from 0 to %d", histogram.SlicesMax)
	case parsed.Calls < 0 || parsed.Calls > histogram.CallsMax:
		return config{}, fmt.Errorf("--out wirebench: calls must be a number from 0 to %d", histogram.CallsMax)
	case parsed.WarmupCalls < 0:
		return config{}, errors.New("--out wirebench: warmup_calls must not be negative")
	}
	return parsed, nil
}
