package domain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The ledger is that of proto/vectors/ledger.json.
func TestLedgerVectors(t *testing.T) {
	var vectors struct {
		Transactions []Transaction
		Balances     []Balance
		FirstIDs     []struct {
			Since int32
			ID    int32
		} `json:"first_ids"`
	}
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "proto", "vectors", "ledger.json"))
	if err == nil {
		err = json.Unmarshal(content, &vectors)
	}
	if err != nil || len(vectors.Transactions) == 0 || len(vectors.Balances) == 0 || len(vectors.FirstIDs) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, expected := range vectors.Transactions {
		if actual := *seededTransaction(expected.ID); expected != actual {
			t.Errorf("expected %+v, not %+v", expected, actual)
		}
	}
	ledger := NewLedger()
	for _, expected := range vectors.Balances {
		if actual, err := ledger.GetBalance(expected.AccountID); err != nil || expected != *actual {
			t.Errorf("expected %+v, not %+v, %v", expected, actual, err)
		}
	}
	for _, each := range vectors.FirstIDs {
		if actual := firstIDSince(each.Since); each.ID != actual {
			t.Errorf("since %d: expected %d, not %d", each.Since, each.ID, actual)
		}
	}
}

// A feed ends with its limit, or with the last transaction.
func TestFeed(t *testing.T) {
	last, two := int32(firstTime+duration-1), int32(2)
	for _, each := range []struct {
		since, limit *int32
		expected     []int32
	}{{nil, &two, []int32{1, 2}}, {&last, nil, []int32{100_000}}, {&last, &two, []int32{100_000}}} {
		feed, err := NewLedger().StreamTransactions(each.since, nil, each.limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range each.expected {
			if next := feed.Next(); next == nil || next.ID != id {
				t.Errorf("expected %d, not %+v", id, next)
			}
		}
		if next := feed.Next(); next != nil {
			t.Errorf("%+v is too much", next)
		}
	}
}
