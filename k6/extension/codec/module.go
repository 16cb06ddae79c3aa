// Package codec is the JavaScript module k6/x/wirebench/codec: protobuf bodies for k6's own HTTP client.
//
//	import codec from 'k6/x/wirebench/codec';
//	const messages = codec.load('../proto/contract.binpb');
//	const call = 'wirebench.v1.UserService/CreateUser';
//	export default function () {
//	  const reply = http.post(url, messages.encode(call, { user }), { responseType: 'binary' });
//	  messages.decode(call, reply.body).data.id;
//	}
package codec

import (
	"encoding/json"
	"errors"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"wirebench.dev/k6/contract"
)

// Name is what scripts import.
const Name = "k6/x/wirebench/codec"

// Module is what k6 keeps once a process.
type Module struct {
	schemas contract.Cache
}

// New returns the module to register with k6.
func New() *Module { return &Module{} }

// NewModuleInstance is called by k6 once for each VU.
func (m *Module) NewModuleInstance(vu modules.VU) modules.Instance {
	return &instance{module: m, vu: vu}
}

type instance struct {
	module *Module
	vu     modules.VU
}

// Exports makes load available both as codec.load and by name.
func (i *instance) Exports() modules.Exports {
	named := map[string]any{"load": i.load}
	return modules.Exports{Default: named, Named: named}
}

// load reads compiled proto files, and returns what encodes and decodes the messages of their methods.
func (i *instance) load(path string) (*Messages, error) {
	environment := i.vu.InitEnv()
	if environment == nil {
		return nil, errors.New("codec.load works in the init context only")
	}
	schema, err := i.module.schemas.Load(environment, path)
	if err != nil {
		return nil, err
	}
	return &Messages{runtime: i.vu.Runtime(), schema: schema}, nil
}

// Messages encodes requests and decodes replies.
type Messages struct {
	runtime *sobek.Runtime
	schema  *contract.Schema
}

// Encode returns the request message of a gRPC method as an ArrayBuffer.
func (m *Messages) Encode(method string, request sobek.Value) (sobek.ArrayBuffer, error) {
	object, ok := request.(*sobek.Object)
	if !ok {
		return sobek.ArrayBuffer{}, errors.New("messages.encode: a request must be an object")
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return sobek.ArrayBuffer{}, err
	}
	body, err := m.schema.Encode(method, text)
	return m.runtime.NewArrayBuffer(body), err
}

// Decode returns the response message of a gRPC method as a JavaScript value.
func (m *Messages) Decode(method string, body sobek.Value) (any, error) {
	if common.IsNullish(body) {
		return nil, errors.New("messages.decode: there is no body")
	}
	buffer, ok := body.Export().(sobek.ArrayBuffer)
	if !ok {
		return nil, errors.New("messages.decode: a body must be an ArrayBuffer")
	}
	text, err := m.schema.Decode(method, buffer.Bytes())
	if err != nil {
		return nil, err
	}
	var value any
	err = json.Unmarshal(text, &value)
	return value, err
}
