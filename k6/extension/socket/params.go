package socket

import (
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/types"
	"wirebench.dev/wireload/secure"
)

const timeoutDefault = 10 * time.Second

// clientSettings is what a script gives to `new socket.Client`.
type clientSettings struct {
	protobuf bool
	// timeout bounds one call, connecting included.
	timeout time.Duration
	// reconnect lets a call that finds its connection closed go out once more, on a fresh one.
	reconnect bool
	// tls is spoken with k6's configuration of it.
	tls bool
}

// dialer returns what opens the client's connections.
func (s clientSettings) dialer(state *lib.State) lib.DialContexter {
	if s.tls {
		return secure.Dialer{Plain: state.Dialer, Config: state.TLSConfig}
	}
	return state.Dialer
}

func parseClientSettings(runtime *sobek.Runtime, value sobek.Value) (clientSettings, error) {
	settings := clientSettings{timeout: timeoutDefault}
	if common.IsNullish(value) {
		return settings, nil
	}
	object := value.ToObject(runtime)
	for _, key := range object.Keys() {
		given := object.Get(key)
		switch key {
		case "codec":
			switch codec := given.String(); codec {
			case "json":
			case "protobuf":
				settings.protobuf = true
			default:
				return settings, fmt.Errorf("socket.Client: codec must be 'json' or 'protobuf', not %q", codec)
			}
		case "timeout":
			timeout, err := types.GetDurationValue(given.Export())
			if err != nil || timeout <= 0 {
				return settings, fmt.Errorf("socket.Client: timeout must be a duration like '10s', not %q", given.String())
			}
			settings.timeout = timeout
		case "reconnect":
			settings.reconnect = given.ToBoolean()
		case "tls":
			settings.tls = given.ToBoolean()
		default:
			return settings, fmt.Errorf("socket.Client: unknown setting %q; there are codec, timeout, reconnect and tls", key)
		}
	}
	return settings, nil
}

// parseTags returns the tags of a call's third argument, {tags: {...}}.
func parseTags(runtime *sobek.Runtime, value sobek.Value) (sobek.Value, error) {
	if common.IsNullish(value) {
		return nil, nil
	}
	params := value.ToObject(runtime)
	for _, key := range params.Keys() {
		if key != "tags" {
			return nil, fmt.Errorf("client.call: unknown parameter %q; there is only tags", key)
		}
	}
	return params.Get("tags"), nil
}

// jsonOf returns the JSON of a body that a script gave: of an object, or JSON text as it is (which is
// cheaper where the script knows its shape). Without a body it returns nothing.
func jsonOf(runtime *sobek.Runtime, value sobek.Value) ([]byte, error) {
	if common.IsNullish(value) {
		return nil, nil
	}
	if text, ok := value.Export().(string); ok {
		return []byte(text), nil
	}
	object, ok := value.(*sobek.Object)
	if !ok {
		return nil, errors.New("client.call: body must be an object, or JSON as a string")
	}
	return object.MarshalJSON()
}
