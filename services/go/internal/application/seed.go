package application

import (
	"fmt"

	"wirebench.dev/services/internal/pb"
)

// People who try the API by hand find the small ids free.
const firstSeedID = 1_000_001

// seedUser returns a user that stores start with: the same everywhere, computed rather than shipped.
func seedUser(i int) *pb.User {
	id := int32(firstSeedID + i)
	return &pb.User{Id: id, Name: fmt.Sprintf("User %d", id), Email: fmt.Sprintf("user%d@example.com", id)}
}

// The ledger as arithmetic on integers: the same in every language (proto/ledger.md).
const (
	accounts     = 10_000
	transactions = 100_000
	// 2026-01-01T00:00:00Z in Unix seconds, and the seconds from the first transaction to the last.
	firstTime = 1_767_225_600
	duration  = 86_400

	currency         = "EUR"
	amountCentsMax   = 100_000
	openingCentsMin  = 5_000_000
	openingCentsSpan = 5_000_000
)

var purposes = [...]string{
	"Salary", "Rent", "Groceries", "Insurance", "Electricity", "Refund", "Savings", "Donation",
}

// mix returns a number that looks random; the factors are the first two primes of xxHash32.
func mix(number uint32) uint32 {
	mixed := number * 2_654_435_761
	mixed = (mixed ^ mixed>>15) * 2_246_822_519
	return mixed ^ mixed>>13
}

// movement returns the accounts that money comes from and goes to, which always differ, and how much it is.
func movement(id int32) (giver, taker, amountCents int32) {
	drawn := mix(uint32(id))
	from := drawn % accounts
	to := (from + 1 + drawn/accounts%(accounts-1)) % accounts
	return int32(from) + 1, int32(to) + 1, 1 + int32(mix(transactions+uint32(id))%amountCentsMax)
}

// seedTransaction returns a transaction by its id, 1 to transactions.
func seedTransaction(id int32) *pb.Transaction {
	giver, taker, amountCents := movement(id)
	return &pb.Transaction{
		Id:            id,
		Time:          int32(firstTime + int64(id-1)*duration/transactions),
		FromAccountId: giver,
		ToAccountId:   taker,
		AmountCents:   amountCents,
		Currency:      currency,
		Reference:     fmt.Sprintf("WB-2026-%08d", id),
		Description:   fmt.Sprintf("%s, from account %05d to account %05d", purposes[id%8], giver, taker),
	}
}

// firstIDSince returns the id of the first transaction at a Unix second or later; one over transactions if there is none.
func firstIDSince(since int32) int32 {
	// The least id with (id-1)*duration/transactions >= elapsed.
	elapsed := min(max(0, int64(since)-firstTime), duration)
	return int32(1 + (elapsed*transactions+duration-1)/duration)
}

// seedBalances returns what the accounts hold after all transactions; the first is account 1.
func seedBalances() []*pb.Balance {
	balances := make([]*pb.Balance, accounts)
	for i := range balances {
		opening := openingCentsMin + int32(mix(2*transactions+uint32(i))%openingCentsSpan)
		balances[i] = &pb.Balance{
			AccountId: int32(i) + 1, Owner: fmt.Sprintf("Owner of account %d", i+1), Currency: currency,
			BalanceCents: opening,
		}
	}
	for id := int32(1); id <= transactions; id++ {
		giver, taker, amountCents := movement(id)
		balances[giver-1].BalanceCents -= amountCents
		balances[taker-1].BalanceCents += amountCents
		balances[giver-1].Transactions++
		balances[taker-1].Transactions++
	}
	return balances
}
