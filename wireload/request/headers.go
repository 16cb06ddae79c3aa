package request

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Header is a header of REST, or metadata of gRPC.
type Header struct {
	// Key is Name in lower case.
	Name, Key string
	Value     []byte
}

// varyingHeader is a header whose value is not the same for all requests.
type varyingHeader struct {
	Header
	program program
}

// reserved are headers of the connection and the framing, which the client sets.
var reserved = []string{
	"connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// reservedMetadata are those that a gRPC client sends by itself.
var reservedMetadata = []string{"content-type", "host", "user-agent"}

var metadataKey = regexp.MustCompile(`^[0-9a-z_.-]+$`)

// NewHeader returns a header of REST, or metadata of gRPC, that can be sent. Errors omit the value, which may be a secret.
func NewHeader(transport, name string, value []byte) (Header, error) {
	made := Header{name, strings.ToLower(name), value}
	isMetadata := transport == "grpc"
	switch {
	case isMetadata && !metadataKey.MatchString(made.Key), !httpguts.ValidHeaderFieldName(name):
		return made, errors.New("this can't be a name")
	case slices.Contains(reserved, made.Key), isMetadata && (slices.Contains(reservedMetadata, made.Key) || strings.HasPrefix(made.Key, "grpc-")):
		return made, errors.New("wireload sends it by itself")
	case isMetadata && strings.HasSuffix(made.Key, "-bin"):
		if _, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(value), "=")); err != nil {
			return made, errors.New("its value isn't base64")
		}
	}
	return made, made.check(transport)
}

// check returns why a value can't be sent: a line break would begin another header.
func (h *Header) check(transport string) error {
	for _, each := range h.Value {
		if each < ' ' && each != '\t' || each == 0x7f {
			return errors.New("its value has a line break or another control character")
		}
		if transport == "grpc" && each >= 0x80 {
			return errors.New("its value isn't ASCII; a name that ends in -bin takes any bytes, in base64")
		}
	}
	return nil
}

// Metadata returns metadata of gRPC whose values may have variables of the environment.
func Metadata(given map[string]string) (all []Header, err error) {
	c := &compiler{work: &Workload{}}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, err := c.text(given[name], appendText, true)
		var made Header
		if err == nil {
			made, err = NewHeader("grpc", name, value.append(nil, nil))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, made)
	}
	return all, nil
}

// HasHeader reports whether the request has a header; key is in lower case.
func (r *Request) HasHeader(key string) bool {
	is := func(each Header) bool { return each.Key == key }
	return slices.ContainsFunc(r.Headers, is) || slices.ContainsFunc(r.Varying, is)
}

// CheckHeaders returns why varying values can't be sent. Constant ones are checked by NewHeader.
func (r *Request) CheckHeaders(transport string) error {
	for i := range r.Varying {
		if err := r.Varying[i].check(transport); err != nil {
			return fmt.Errorf("%s: %s: %w", r.Operation, r.Varying[i].Name, err)
		}
	}
	return nil
}

// addDefault adds a header of REST, unless the request has it.
func (c *compiler) addDefault(name, value string) {
	key := strings.ToLower(name)
	if !c.template.HasHeader(key) && !slices.ContainsFunc(c.headers, func(each varyingHeader) bool { return each.Key == key }) {
		c.template.Headers = append(c.template.Headers, Header{name, key, []byte(value)})
	}
}

// addHeaders compiles headers or metadata: texts with placeholders and variables of the environment (${NAME}). A request's
// own replace those of the variant.
func (c *compiler) addHeaders(own field) {
	inherited := slices.DeleteFunc(c.application.variant.get("headers").each(), func(each field) bool {
		return slices.ContainsFunc(own.each(), func(other field) bool { return strings.EqualFold(each.name, other.name) })
	})
	for _, each := range append(inherited, own.each()...) {
		value, err := c.text(each.value.(string), appendText, true)
		each.check(err)
		constant, isConstant := value.constant()
		made, err := NewHeader(c.work.options.Transport, each.name, constant)
		each.check(err)
		if isConstant {
			c.template.Headers = append(c.template.Headers, made)
		} else {
			c.headers = append(c.headers, varyingHeader{made, value})
		}
	}
}
