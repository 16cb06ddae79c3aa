package domain

import (
	"math"
	"sync"
)

const (
	rateLimitMax   = 1_000_000
	streamItemsMax = transactions
)

// Balance is what an account holds, and how many transactions it took part in.
type Balance struct {
	AccountID    int32  `json:"account_id"`
	Owner        string `json:"owner"`
	Currency     string `json:"currency"`
	BalanceCents int32  `json:"balance_cents"`
	Transactions int32  `json:"transactions"`
}

// Transaction is one movement of money; Time is in Unix seconds.
type Transaction struct {
	ID            int32  `json:"id"`
	Time          int32  `json:"time"`
	FromAccountID int32  `json:"from_account_id"`
	ToAccountID   int32  `json:"to_account_id"`
	AmountCents   int32  `json:"amount_cents"`
	Currency      string `json:"currency"`
	Reference     string `json:"reference"`
	Description   string `json:"description"`
}

// Ledger is the operations on what accounts hold, and on what moved between them; it is read and never written.
type Ledger struct{ balances func() []*Balance }

// NewLedger returns the ledger that is the same everywhere (proto/ledger.md).
func NewLedger() *Ledger {
	return &Ledger{balances: sync.OnceValue(seededBalances)}
}

// GetBalance returns what an account holds. Errors: InvalidArgument, NotFound.
func (l *Ledger) GetBalance(accountID int32) (*Balance, error) {
	if err := validateInteger("account_id", accountID, 1, math.MaxInt32); err != nil {
		return nil, err
	}
	if accountID > accounts {
		return nil, Errorf(NotFound, "Account not found.")
	}
	return l.balances()[accountID-1], nil
}

// TransactionFeed is the transactions that one client asked for, in the order of their ids, which is that of time.
type TransactionFeed struct {
	// At most so many a second; 0 is as fast as they are read.
	RateLimit int32
	nextID    int32
	left      int32
}

// StreamTransactions begins to read transactions; nil is all of them, as fast as they are read. Errors:
// InvalidArgument.
func (l *Ledger) StreamTransactions(since, rateLimit, limit *int32) (*TransactionFeed, error) {
	feed := &TransactionFeed{nextID: 1, left: streamItemsMax}
	if since != nil {
		if err := validateInteger("since", *since, 0, math.MaxInt32); err != nil {
			return nil, err
		}
		feed.nextID = firstIDSince(*since)
	}
	if rateLimit != nil {
		if err := validateInteger("rate_limit", *rateLimit, 1, rateLimitMax); err != nil {
			return nil, err
		}
		feed.RateLimit = *rateLimit
	}
	if limit != nil {
		if err := validateInteger("limit", *limit, 1, streamItemsMax); err != nil {
			return nil, err
		}
		feed.left = *limit
	}
	return feed, nil
}

// Next returns the next transaction, made anew as a database makes rows, or nil if there are no more.
func (f *TransactionFeed) Next() *Transaction {
	if f.left == 0 || f.nextID > transactions {
		return nil
	}
	f.left--
	f.nextID++
	return seededTransaction(f.nextID - 1)
}
