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

// JSON leaves out zeros, as of generated messages: no balance and no count of transactions is zero.
func TestBalancesAreNotZero(t *testing.T) {
	for _, balance := range seedBalances() {
		if balance.BalanceCents == 0 || balance.Transactions == 0 {
			t.Errorf("%v", balance)
		}
	}
}

func TestADeadlineEndsAStreamWhenItComes(t *testing.T) {
	const lasts = 300 * time.Millisecond // a busy machine has sent the first item by then
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	begun := time.Now()
	ids, end := read(t, ctx, t.Context(), &pb.StreamTransactionsRequest{RateLimit: proto.Int32(1)}, nil)
	if len(ids) != 1 || end != ErrCancelled || time.Since(begun) < lasts*9/10 {
		t.Errorf("%d items, %v after %s", len(ids), end, time.Since(begun))
	}
}

// read returns the ids of a stream, and how it ended. It calls onItems after each batch.
func read(
	t *testing.T, ctx, stopping context.Context, r *pb.StreamTransactionsRequest, onItems func(),
) (ids []int32, end error) {
	t.Helper()
	batches, err := New(stopping, NewMemory(0)).Ledger.Transactions(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range batches {
		end = err
		for _, each := range batch {
			ids = append(ids, each.Id)
		}
		if onItems != nil && err == nil {
			onItems()
		}
	}
	return ids, end
}

// A stream ends with its limit, or with the last transaction.
func TestStreams(t *testing.T) {
	last := proto.Int32(firstTime + duration - 1)
	for _, each := range []struct {
		since, limit *int32
		first, count int
	}{{nil, proto.Int32(300), 1, 300}, {last, nil, 100_000, 1}, {last, proto.Int32(2), 100_000, 1}} {
		request := &pb.StreamTransactionsRequest{Since: each.since, Limit: each.limit}
		ids, end := read(t, t.Context(), t.Context(), request, nil)
		if end != nil || len(ids) != each.count || int(ids[0]) != each.first {
			t.Errorf("%v: %d ids, %v", request, len(ids), end)
		}
	}
}

// The client and the service end a stream at once, each with a reason of its own, also while nothing is due.
func TestEndsOfStreams(t *testing.T) {
	for _, expected := range []error{ErrCancelled, errStopping} {
		ctx, cancel := context.WithCancel(t.Context())
		stopping, stop := context.WithCancel(t.Context())
		end := map[error]func(){ErrCancelled: cancel, errStopping: stop}[expected]
		endSoon := func() { time.AfterFunc(20*time.Millisecond, end) }
		ids, actual := read(t, ctx, stopping, &pb.StreamTransactionsRequest{RateLimit: proto.Int32(1)}, endSoon)
		if len(ids) != 1 || actual != expected {
			t.Errorf("expected %v after 1, not %v after %d", expected, actual, len(ids))
		}
		cancel()
		stop()
	}
}

// Items come no faster than asked for, the first one at once.
func TestRateLimit(t *testing.T) {
	begun := time.Now()
	limited := &pb.StreamTransactionsRequest{RateLimit: proto.Int32(100), Limit: proto.Int32(11)}
	ids, _ := read(t, t.Context(), t.Context(), limited, nil)
	if lasted := time.Since(begun); len(ids) != 11 || lasted < 99*time.Millisecond {
		t.Errorf("%d items took %v", len(ids), lasted)
	}
}
