// Package operations has the operations as data: what each takes, calls and gives, in JSON and in protobuf. A transport
// only finds the operation and carries bytes to it: Run does the rest, so that all transports answer alike.
package operations

import (
	"errors"
	"log"
	"runtime/debug"

	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/domain"
)

// Operation is one row of the contract.
type Operation struct {
	Name string
	// What a reply says that has succeeded.
	message     string
	newRequest  func() proto.Message
	call        func(*domain.Application, proto.Message) (any, error)
	newResponse func(data any) proto.Message
}

// ByName has all operations but the one whose reply is a stream.
var ByName = byName(users(), ledger(), echo())

// Outcome is how an operation ended; Body is encoded by the codec of the request, and empty on failure.
type Outcome struct {
	Code    domain.Code
	Message string
	Body    []byte
}

// Refusal returns the outcome of what was refused before or outside of an operation.
func Refusal(err *domain.Error) Outcome { return Outcome{Code: err.Code, Message: err.Message} }

// Given is an integer field that the transport took from elsewhere than the body, as it was written there.
type Given struct{ Name, Value string }

// Run decodes, carries out and encodes; every failure is an outcome. A field that is given wins over an equal one in
// the body; a different one is refused.
func (o *Operation) Run(app *domain.Application, codec Codec, body []byte, given ...Given) (outcome Outcome) {
	defer func() {
		if reason := recover(); reason != nil {
			outcome = Refusal(failure(o, reason))
		}
	}()
	reply, err := o.run(app, codec, body, given)
	if err != nil {
		return Refusal(refusalOf(o, err))
	}
	return Outcome{domain.OK, o.message, reply}
}

func (o *Operation) run(app *domain.Application, codec Codec, body []byte, given []Given) ([]byte, error) {
	request := o.newRequest()
	if err := codec.decode(o, body, request); err != nil {
		return nil, err
	}
	if err := set(request.ProtoReflect(), given); err != nil {
		return nil, err
	}
	data, err := o.call(app, request)
	if err != nil {
		return nil, err
	}
	return codec.encode(o, data)
}

// refusalOf returns what a client is told of an error; what is none of the contract's is logged.
func refusalOf(o *Operation, err error) *domain.Error {
	if refused := (*domain.Error)(nil); errors.As(err, &refused) {
		return refused
	}
	return failure(o, err)
}

func failure(o *Operation, reason any) *domain.Error {
	log.Printf("%s failed: %v\n%s", o.Name, reason, debug.Stack())
	return domain.Errorf(domain.Internal, "Internal error.")
}

func byName(groups ...[]*Operation) map[string]*Operation {
	all := make(map[string]*Operation)
	for _, group := range groups {
		for _, each := range group {
			all[each.Name] = each
		}
	}
	return all
}

// message is what a pointer to a generated message is.
type message[T any] interface {
	*T
	proto.Message
}

// operation makes an operation of functions that know its types.
func operation[T any, Request message[T], Data any, Response proto.Message](
	name, words string,
	call func(*domain.Application, Request) (Data, error),
	newResponse func(Data) Response,
) *Operation {
	return &Operation{
		Name:       name,
		message:    words,
		newRequest: func() proto.Message { return Request(new(T)) },
		call: func(app *domain.Application, request proto.Message) (any, error) {
			return call(app, request.(Request))
		},
		newResponse: func(data any) proto.Message { return newResponse(data.(Data)) },
	}
}
