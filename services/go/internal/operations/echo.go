package operations

import (
	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/pb"
)

type payload struct {
	Payload []byte `json:"payload"`
}

type text struct {
	Text string `json:"text"`
}

func echo() []*Operation {
	return []*Operation{
		operation("echo.echo", "Payload echoed successfully",
			func(_ *domain.Application, r *pb.EchoRequest) (payload, error) {
				bytes, err := domain.Echo(r.GetPayload())
				return payload{bytes}, err
			},
			func(p payload) *pb.EchoResponse { return &pb.EchoResponse{Data: &pb.Payload{Payload: p.Payload}} }),
		operation("echo.upper", "Text upper-cased successfully",
			func(_ *domain.Application, r *pb.UpperRequest) (text, error) {
				upper, err := domain.Upper(r.GetText())
				return text{upper}, err
			},
			func(t text) *pb.UpperResponse { return &pb.UpperResponse{Data: &pb.Text{Text: t.Text}} }),
	}
}
