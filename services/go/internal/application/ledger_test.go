package application

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/pb"
)

// The ledger is that of proto/vectors/ledger.json.
func TestLedgerVectors(t *testing.T) {
	store := NewMemory(0)
	var vectors struct {
		Transactions []*pb.Transaction
		Balances     []*pb.Balance
		FirstIDs     []struct{ Since, ID int32 } `json:"first_ids"`
	}
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "proto", "vectors", "ledger.json"))
	if err == nil {
		err = json.Unmarshal(content, &vectors)
	}
	if err != nil || len(vectors.Transactions) == 0 || len(vectors.Balances) == 0 || len(vectors.FirstIDs) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, expected := range vectors.Transactions {
		actual, err := store.transactions(t.Context(), expected.Time, expected.Id-1, 1)
		if err != nil || len(actual) != 1 || !proto.Equal(expected, actual[0]) {
			t.Errorf("expected %v, not %v, %v", expected, actual, err)
		}
	}
	for _, expected := range vectors.Balances {
		actual, err := store.balance(t.Context(), expected.AccountId)
		if err != nil || !proto.Equal(expected, actual) {
			t.Errorf("expected %v, not %v, %v", expected, actual, err)
		}
	}
	for _, each := range vectors.FirstIDs {
		actual, err := store.transactions(t.Context(), each.Since, 0, 1)
		if isNone := each.ID > transactions; err != nil || isNone != (len(actual) == 0) || !isNone && actual[0].Id != each.ID {
			t.Errorf("since %d: expected %d, not %v, %v", each.Since, each.ID, actual, err)
		}
	}
}

// A client's deadline ends a stream when it comes, and not as soon as the next item is known to be due later.
func TestADeadlineEndsAStreamWhenItComes(t *testing.T) {
	const lasts = 300 * time.Millisecond // a busy machine has sent the first item by then
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	begun, items := time.Now(), 0
	batches, end := New(t.Context(), NewMemory(0)).Ledger.Transactions(ctx, &pb.StreamTransactionsRequest{RateLimit: proto.Int32(1)})
	if end == nil {
		for batch, err := range batches {
			end, items = err, items+len(batch)
		}
	}
	if items != 1 || end != ErrCancelled || time.Since(begun) < lasts*9/10 {
		t.Errorf("%d items, %v after %s", items, end, time.Since(begun))
	}
}
