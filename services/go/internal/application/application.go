package application

import (
	"context"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"wirebench.dev/services/internal/pb"
)

// BodyBytesMax is the longest request body.
const BodyBytesMax = 4 << 20

// Application is what a transport serves.
type Application struct {
	Users  *Users
	Ledger *Ledger
	Echo   *Echo
}

// New returns the application over a store. Its streams end when stopping is done.
func New(stopping context.Context, store Store) *Application {
	return &Application{&Users{store: store}, &Ledger{store: store, stopping: stopping}, &Echo{}}
}

// Echo implements EchoService.
type Echo struct {
	pb.UnimplementedEchoServiceServer
}

func (*Echo) Echo(_ context.Context, r *pb.EchoRequest) (*pb.EchoResponse, error) {
	if len(r.GetPayload()) == 0 {
		return nil, Invalid("Missing required fields: payload.")
	}
	data := &pb.Payload{Payload: r.Payload}
	return &pb.EchoResponse{Success: true, Message: "Payload echoed successfully", Data: data}, nil
}

func (*Echo) Upper(_ context.Context, r *pb.UpperRequest) (*pb.UpperResponse, error) {
	if r.GetText() == "" {
		return nil, Invalid("Missing required fields: text.")
	}
	data := &pb.Text{Text: ToUpper(r.Text)}
	return &pb.UpperResponse{Success: true, Message: "Text upper-cased successfully", Data: data}, nil
}

// ToUpper follows all rules of Unicode: ß becomes SS. strings.ToUpper replaces each character by one character.
func ToUpper(text string) string { return cases.Upper(language.Und).String(text) }
