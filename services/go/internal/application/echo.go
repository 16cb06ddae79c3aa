package application

import (
	"context"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
)

// Echo returns what it gets.
type Echo struct {
	pb.UnimplementedEchoServiceServer
}

// Echo returns the payload.
func (*Echo) Echo(_ context.Context, r *pb.EchoRequest) (*pb.EchoResponse, error) {
	if len(r.GetPayload()) == 0 {
		return nil, failure.Invalid("Missing required fields: payload.")
	}
	data := &pb.Payload{Payload: r.GetPayload()}
	return &pb.EchoResponse{Success: true, Message: "Payload echoed successfully", Data: data}, nil
}

// Upper returns the text in upper case.
func (*Echo) Upper(_ context.Context, r *pb.UpperRequest) (*pb.UpperResponse, error) {
	if r.GetText() == "" {
		return nil, failure.Invalid("Missing required fields: text.")
	}
	data := &pb.Text{Text: ToUpper(r.GetText())}
	return &pb.UpperResponse{Success: true, Message: "Text upper-cased successfully", Data: data}, nil
}

// ToUpper follows all rules of Unicode: ß becomes SS. strings.ToUpper replaces each character by one character.
func ToUpper(text string) string { return cases.Upper(language.Und).String(text) }
