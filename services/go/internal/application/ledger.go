package application

import (
	"context"
	"iter"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"wirebench.dev/services/internal/failure"
	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/store"
)

const (
	rateLimitMax   = 1_000_000
	streamItemsMax = 100_000
	// How many transactions a stream fetches at once: so many wait in memory for a client that doesn't read.
	pageItems = 128
)

// Ledger reads what accounts hold and what moved between them.
type Ledger struct {
	pb.UnimplementedLedgerServiceServer
	store store.Store
	// Done when the service is told to stop.
	stopping context.Context
}

// GetBalance returns what an account holds.
func (l *Ledger) GetBalance(ctx context.Context, r *pb.GetBalanceRequest) (*pb.GetBalanceResponse, error) {
	if err := validateRange("account_id", r.GetAccountId(), 1, math.MaxInt32); err != nil {
		return nil, err
	}
	balance, err := l.store.Balance(ctx, r.GetAccountId())
	if err != nil {
		return nil, err
	}
	return &pb.GetBalanceResponse{Success: true, Message: "Balance retrieved successfully", Data: balance}, nil
}

// StreamTransactions sends transactions over gRPC.
func (l *Ledger) StreamTransactions(
	r *pb.StreamTransactionsRequest, stream grpc.ServerStreamingServer[pb.StreamTransactionsResponse],
) error {
	batches, err := l.Transactions(stream.Context(), r)
	if err != nil {
		return err
	}
	for batch, err := range batches {
		if err != nil {
			return err
		}
		for _, transaction := range batch {
			if err := stream.Send(&pb.StreamTransactionsResponse{Data: transaction}); err != nil {
				return errCancelled
			}
		}
	}
	return nil
}

var (
	errCancelled = failure.New(codes.Canceled, "The stream was cancelled.")
	errStopping  = failure.New(codes.Unavailable, "The service is stopping.")
)

// Transactions returns the batches of a stream: each holds the transactions that are due, and the sequence pauses in
// between. It ends with an error if the client cancels (the context), the service stops or the store fails.
func (l *Ledger) Transactions(
	ctx context.Context, r *pb.StreamTransactionsRequest,
) (iter.Seq2[[]*pb.Transaction, error], error) {
	limit := int32(streamItemsMax)
	if r.Since != nil {
		if err := validateRange("since", *r.Since, 0, math.MaxInt32); err != nil {
			return nil, err
		}
	}
	if r.RateLimit != nil {
		if err := validateRange("rate_limit", *r.RateLimit, 1, rateLimitMax); err != nil {
			return nil, err
		}
	}
	if r.Limit != nil {
		if err := validateRange("limit", *r.Limit, 1, streamItemsMax); err != nil {
			return nil, err
		}
		limit = *r.Limit
	}
	return func(yield func([]*pb.Transaction, error) bool) {
		pace := newPace(r.GetRateLimit())
		afterID := int32(0)
		for limit > 0 {
			page, err := l.store.Transactions(ctx, r.GetSince(), afterID, min(pageItems, limit))
			for err == nil && len(page) > 0 {
				var due int
				if due, err = pace.wait(ctx, l.stopping, len(page)); err != nil {
					break
				}
				if !yield(page[:due], nil) {
					return
				}
				afterID, limit, page = page[due-1].GetId(), limit-int32(due), page[due:]
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}, nil
}
