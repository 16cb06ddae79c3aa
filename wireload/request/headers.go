package request

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	"wirebench.dev/wireload/variable"
)

// Header is a header of REST, or metadata of gRPC.
type Header struct {
	// Key is Name in lower case.
	Name, Key string
	Value     []byte
}

// varyingHeader is a header whose value is not the same for all requests.
type varyingHeader struct {
	name, key string
	value     program
}

// reserved are headers of the connection and the framing, which the client sets.
var reserved = []string{
	"connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// reservedMetadata are those that a gRPC client sends by itself.
var reservedMetadata = []string{"content-type", "host", "user-agent"}

var metadataKey = regexp.MustCompile(`^[0-9a-z_.-]+$`)

// NewHeader returns a header of REST, or metadata of gRPC, that can be sent.
func NewHeader(transport, name string, value []byte) (Header, error) {
	made := Header{name, strings.ToLower(name), value}
	if err := made.checkName(transport); err != nil {
		return made, err
	}
	if transport == "grpc" && strings.HasSuffix(made.Key, "-bin") && !isBase64(value) {
		return made, atKey(name, errors.New("its value isn't base64"))
	}
	return made, made.check(transport)
}

func (h *Header) checkName(transport string) error {
	isMetadata := transport == "grpc"
	switch {
	case isMetadata && !metadataKey.MatchString(h.Key), !httpguts.ValidHeaderFieldName(h.Name):
		return fmt.Errorf("%q can't be a name", h.Name)
	case slices.Contains(reserved, h.Key), isMetadata && (slices.Contains(reservedMetadata, h.Key) || strings.HasPrefix(h.Key, "grpc-")):
		return atKey(h.Name, errors.New("wireload sends it by itself"))
	}
	return nil
}

// check returns why a value can't be sent: a line break would begin another header. The error omits the value, which may
// be a secret.
func (h *Header) check(transport string) error {
	isMetadata := transport == "grpc"
	for _, each := range h.Value {
		if each < ' ' && each != '\t' || each == 0x7f {
			return atKey(h.Name, errors.New("its value has a line break or another control character"))
		}
		if isMetadata && each >= 0x80 {
			return atKey(h.Name, errors.New("its value isn't ASCII; a name that ends in -bin takes any bytes, in base64"))
		}
	}
	return nil
}

func isBase64(text []byte) bool {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding} {
		if _, err := encoding.Decode(make([]byte, encoding.DecodedLen(len(text))), text); err == nil {
			return true
		}
	}
	return false
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
			return fmt.Errorf("%s: %w", r.Operation, err)
		}
	}
	return nil
}

// addHeaders compiles headers or metadata.
func (c *compiler) addHeaders(given ordered[string]) error {
	var wrong []error
	for _, each := range given {
		wrong = append(wrong, c.addHeader(each.name, each.value))
	}
	return errors.Join(wrong...)
}

func (c *compiler) addHeader(name, template string) error {
	value, err := c.headerValue(template)
	if err != nil {
		return atKey(name, err)
	}
	constant, isConstant := value.constant()
	if c.options.isCheck && variable.Pattern.MatchString(template) {
		constant = nil
	}
	made, err := NewHeader(c.options.Transport, name, constant)
	switch {
	case err != nil:
		return err
	case isConstant:
		c.template.Headers = append(c.template.Headers, made)
	default:
		c.headers = append(c.headers, varyingHeader{made.Name, made.Key, value})
	}
	return nil
}

// headerValue compiles a text with placeholders and environment variables (${NAME}), whose values are taken literally.
// The check of a file doesn't need them.
func (c *compiler) headerValue(template string) (program, error) {
	var p program
	from := 0
	for _, at := range variable.Pattern.FindAllStringSubmatchIndex(template, -1) {
		before, err := c.text(template[from:at[0]], nil)
		if err != nil {
			return nil, err
		}
		value := ""
		if !c.options.isCheck {
			if value, err = variable.LookUp(template[at[2]:at[3]]); err != nil {
				return nil, err
			}
		}
		p.join(before)
		p.literal(value)
		from = at[1]
	}
	after, err := c.text(template[from:], nil)
	p.join(after)
	return p, err
}
