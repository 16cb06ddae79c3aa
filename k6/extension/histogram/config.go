package histogram

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// config is what stands behind `--out wirebench=`.
type config struct {
	path   string
	warmup time.Duration
	window time.Duration
	// byDue has a request belong to the window that it was due in, rather than to that it ended in.
	byDue bool
	// slices is how many parts of the window have a histogram of their own.
	slices int
	// calls is how many requests the load has in all, if it is a number of them: the window then ends
	// with the last one, and the latency of each is kept.
	calls int
	// warmupCalls is how many requests warm up, if it is a number of them: the window opens when all users have
	// made theirs.
	warmupCalls int
	// snapshot is a file that tells each second how the load goes; empty if none is to.
	snapshot string
}

// slicesMax bounds the memory: each slice of each operation takes a quarter of a megabyte.
const slicesMax = 100

// callsMax bounds the file: each call takes some ten characters of it.
const callsMax = 100_000

// parseConfig reads `path=FILE,warmup=500ms,window=1500ms`, and further `by=due`, `slices=50`,
// `calls=500`, `warmup_calls=100` and `snapshot=FILE`.
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
		case "by":
			parsed.byDue, err = value == "due", oneOf(value, "due", "end")
		case "slices":
			parsed.slices, err = strconv.Atoi(value)
		case "calls":
			parsed.calls, err = strconv.Atoi(value)
		case "warmup_calls":
			parsed.warmupCalls, err = strconv.Atoi(value)
		case "snapshot":
			parsed.snapshot = value
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
	case parsed.warmup < 0:
		return config{}, errors.New("--out wirebench: warmup must not be negative")
	case parsed.window <= 0:
		return config{}, errors.New("--out wirebench: window=DURATION must be given, and be positive")
	case parsed.slices < 0 || parsed.slices > slicesMax:
		return config{}, fmt.Errorf("--out wirebench: slices must be a number from 0 to %d", slicesMax)
	case parsed.calls < 0 || parsed.calls > callsMax:
		return config{}, fmt.Errorf("--out wirebench: calls must be a number from 0 to %d", callsMax)
	case parsed.warmupCalls < 0:
		return config{}, errors.New("--out wirebench: warmup_calls must not be negative")
	}
	return parsed, nil
}

func oneOf(value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return errors.New("it must be one of " + strings.Join(choices, ", "))
}
