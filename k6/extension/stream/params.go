package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/lib/types"
)

const timeoutDefault = 10 * time.Second

var transports = []string{"rest", "grpc", "socket"}

// settings is what a script gives to `new stream.Client`.
type settings struct {
	transport, address string
	// protobuf is the codec of the socket's items; gRPC's always is, and REST's never.
	protobuf bool
	// timeout is how long a stream may go without an item, connecting included.
	timeout time.Duration
	// reopen closes the connection after each stream.
	reopen bool
	// reconnect lets a socket request that finds its connection closed go out once more, on a fresh one.
	reconnect bool
	// tls is spoken with k6's configuration of it.
	tls bool
}

func parseSettings(runtime *sobek.Runtime, value sobek.Value) (settings, error) {
	parsed := settings{timeout: timeoutDefault}
	err := eachKey(runtime, value, func(key string, given sobek.Value) error {
		switch key {
		case "transport":
			parsed.transport = given.String()
		case "address":
			parsed.address = given.String()
		case "codec":
			parsed.protobuf = given.String() == "protobuf"
		case "timeout":
			timeout, err := types.GetDurationValue(given.Export())
			if err != nil || timeout <= 0 {
				return fmt.Errorf("timeout must be a duration like '10s', not %q", given.String())
			}
			parsed.timeout = timeout
		case "reopen":
			parsed.reopen = given.ToBoolean()
		case "reconnect":
			parsed.reconnect = given.ToBoolean()
		case "tls":
			parsed.tls = given.ToBoolean()
		default:
			return fmt.Errorf("unknown setting %q", key)
		}
		return nil
	})
	switch {
	case err != nil:
	case !slices.Contains(transports, parsed.transport):
		err = fmt.Errorf("transport must be one of %s, not %q", strings.Join(transports, ", "), parsed.transport)
	case parsed.address == "":
		err = errors.New("address is missing")
	}
	if err != nil {
		return settings{}, fmt.Errorf("stream.Client: %w", err)
	}
	return parsed, nil
}

// task is what a script gives to `client.read`.
type task struct {
	request
	// name is the operation that the stream is counted under.
	name string
	// items is how many the stream should have, as far as that is known.
	items int64
	// until is when the load is over, and the stream with it; zero if it has no end.
	until time.Time
	// check keeps items of the stream for the script to look at.
	check bool
}

func parseTask(runtime *sobek.Runtime, value sobek.Value) (task, error) {
	var parsed task
	err := eachKey(runtime, value, func(key string, given sobek.Value) error {
		switch key {
		case "method":
			parsed.method = given.String()
		case "target":
			parsed.target = given.String()
		case "end":
			parsed.end = given.String()
		case "body":
			var err error
			parsed.body, err = parseBody(given)
			return err
		case "headers":
			return runtime.ExportTo(given, &parsed.headers)
		case "items":
			parsed.items = given.ToInteger()
		case "until":
			parsed.until = time.UnixMilli(given.ToInteger())
		case "name":
			parsed.name = given.String()
		case "check":
			parsed.check = given.ToBoolean()
		default:
			return fmt.Errorf("client.read: unknown parameter %q", key)
		}
		return nil
	})
	if err == nil && (parsed.name == "" || parsed.target == "") {
		err = errors.New("client.read: name and target are missing")
	}
	return parsed, err
}

// eachKey calls take for each key of an object that has a value.
func eachKey(runtime *sobek.Runtime, value sobek.Value, take func(string, sobek.Value) error) error {
	if common.IsNullish(value) {
		return nil
	}
	object := value.ToObject(runtime)
	for _, key := range object.Keys() {
		if given := object.Get(key); !common.IsNullish(given) {
			if err := take(key, given); err != nil {
				return err
			}
		}
	}
	return nil
}
