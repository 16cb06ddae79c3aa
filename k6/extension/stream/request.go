package stream

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/grafana/sobek"
	"google.golang.org/grpc/metadata"
)

// request is what asks for a stream.
type request struct {
	// method is HTTP's.
	method string
	// target is the path with its query on REST, otherwise the method: gRPC's as "package.Service/Method".
	target string
	// end names the event that ends a stream on REST; where it is empty, the end of the body does.
	end string
	// body is what REST sends, the message, or on the socket its JSON.
	body []byte
	// headers are metadata on gRPC, with base64 for keys that end in -bin.
	headers map[string]string
}

// setHeaders adds the headers to those of an HTTP request.
func (r request) setHeaders(to *http.Request) {
	for name, value := range r.headers {
		if strings.EqualFold(name, "Host") {
			to.Host = value
			continue
		}
		to.Header.Set(name, value)
	}
}

// metadata returns the headers as gRPC's clients take them.
func (r request) metadata() (metadata.MD, error) {
	made := metadata.New(r.headers)
	for key, values := range made {
		if !strings.HasSuffix(key, "-bin") {
			continue
		}
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(values[0], "="))
		if err != nil {
			return nil, fmt.Errorf("%s: its value isn't base64", key)
		}
		made[key] = []string{string(decoded)}
	}
	return made, nil
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
