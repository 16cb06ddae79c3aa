package operations

import (
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/pb"
)

func ledger() []*Operation {
	return []*Operation{
		operation("ledger.get_balance", "Balance retrieved successfully",
			func(app *domain.Application, r *pb.GetBalanceRequest) (*domain.Balance, error) {
				return app.Ledger.GetBalance(r.GetAccountId())
			},
			func(b *domain.Balance) *pb.GetBalanceResponse {
				return &pb.GetBalanceResponse{Data: &pb.Balance{
					AccountId: b.AccountID, Owner: b.Owner, Currency: b.Currency, BalanceCents: b.BalanceCents,
					Transactions: b.Transactions,
				}}
			}),
	}
}

// StreamTransactions is the operation whose reply is a stream; its data are the items, one at a time.
var StreamTransactions = &Operation{
	Name:       "ledger.stream_transactions",
	newRequest: func() proto.Message { return &pb.StreamTransactionsRequest{} },
	newResponse: func(data any) proto.Message {
		t := data.(*domain.Transaction)
		return &pb.StreamTransactionsResponse{Data: &pb.Transaction{
			Id: t.ID, Time: t.Time, FromAccountId: t.FromAccountID, ToAccountId: t.ToAccountID,
			AmountCents: t.AmountCents, Currency: t.Currency, Reference: t.Reference, Description: t.Description,
		}}
	},
}

// OpenTransactions begins a stream, or says why it is refused. The request is read with one codec, and items are written
// with the other.
func OpenTransactions(
	app *domain.Application, from, to Codec, body []byte, given ...Given,
) (*Stream, *domain.Error) {
	request := &pb.StreamTransactionsRequest{}
	err := from.decode(StreamTransactions, body, request)
	if err == nil {
		err = set(request.ProtoReflect(), given)
	}
	var feed *domain.TransactionFeed
	if err == nil {
		feed, err = app.Ledger.StreamTransactions(request.Since, request.RateLimit, request.Limit)
	}
	if err != nil {
		return nil, refusalOf(StreamTransactions, err)
	}
	return &Stream{feed: feed, codec: to}, nil
}
