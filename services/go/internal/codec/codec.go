// Package codec has the encodings of messages: protobuf, and the contract's JSON mapping of it.
package codec

import (
	"encoding/json"

	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
)

// DecodeProtobuf fills a request from its wire format.
func DecodeProtobuf(body []byte, request proto.Message) error {
	if proto.Unmarshal(body, request) != nil {
		return failure.Invalid("The body is not a valid %s.", request.ProtoReflect().Descriptor().Name())
	}
	return nil
}

// EncodeJSON returns the JSON of what a response says (see Data).
func EncodeJSON(response proto.Message) ([]byte, error) { return json.Marshal(Data(response)) }

// Data returns the `data` of a response as encoding/json can encode it: with the proto's field names, and with nothing
// for optional fields that aren't there.
func Data(response proto.Message) any {
	switch r := response.(type) {
	case interface{ GetData() *pb.User }:
		return newUser(r.GetData())
	case interface{ GetData() []*pb.User }:
		users := make([]user, len(r.GetData()))
		for i, each := range r.GetData() {
			users[i] = newUser(each)
		}
		return users
	case *pb.GetBalanceResponse:
		b := r.GetData()
		return balance{b.GetAccountId(), b.GetOwner(), b.GetCurrency(), b.GetBalanceCents(), b.GetTransactions()}
	case *pb.StreamTransactionsResponse:
		return newTransaction(r.GetData())
	case *pb.EchoResponse:
		return payload{r.GetData().GetPayload()}
	case *pb.UpperResponse:
		return text{r.GetData().GetText()}
	}
	panic("a response without JSON: " + response.ProtoReflect().Descriptor().Name())
}

type user struct {
	ID      int32    `json:"id"`
	Name    string   `json:"name"`
	Email   string   `json:"email"`
	Phone   *string  `json:"phone,omitempty"`
	Address *string  `json:"address,omitempty"`
	Bio     *string  `json:"bio,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	Avatar  []byte   `json:"avatar,omitzero"`
}

func newUser(u *pb.User) user {
	return user{u.Id, u.Name, u.Email, u.Phone, u.Address, u.Bio, u.Tags, u.Avatar}
}

type balance struct {
	AccountID    int32  `json:"account_id"`
	Owner        string `json:"owner"`
	Currency     string `json:"currency"`
	BalanceCents int32  `json:"balance_cents"`
	Transactions int32  `json:"transactions"`
}

type transaction struct {
	ID            int32  `json:"id"`
	Time          int32  `json:"time"`
	FromAccountID int32  `json:"from_account_id"`
	ToAccountID   int32  `json:"to_account_id"`
	AmountCents   int32  `json:"amount_cents"`
	Currency      string `json:"currency"`
	Reference     string `json:"reference"`
	Description   string `json:"description"`
}

func newTransaction(t *pb.Transaction) transaction {
	return transaction{
		t.Id, t.Time, t.FromAccountId, t.ToAccountId, t.AmountCents, t.Currency, t.Reference, t.Description,
	}
}

type payload struct {
	Payload []byte `json:"payload"`
}

type text struct {
	Text string `json:"text"`
}
