package stream

import (
	"fmt"

	"github.com/grafana/sobek"
)

// request is what asks for a stream.
type request struct {
	// target is the path with its query on REST, otherwise the method: gRPC's as "package.Service/Method".
	target string
	// body is the message, or on the socket its JSON.
	body []byte
}

func parseBody(value sobek.Value) ([]byte, error) {
	switch body := value.Export().(type) {
	case string:
		return []byte(body), nil
	case sobek.ArrayBuffer:
		return body.Bytes(), nil
	default:
		return nil, fmt.Errorf("client.read: body must be a text or an ArrayBuffer, not %q", value.String())
	}
}
