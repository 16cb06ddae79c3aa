package application

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/pb"
)

const (
	rateLimitMax   = 1_000_000
	streamItemsMax = 100_000
	// How many transactions a stream fetches at once: so many wait in memory for a client that doesn't read.
	pageItems = 128
	// Timers are no finer: items that are due within a tick are sent together.
	ticksPerSecond = 1000
	// After a pause in reading, a client gets no more than what was due in so much of a second; as in Python.
	catchUpPerSecond = 10
)

// How streams end early.
var (
	ErrCancelled = Error(codes.Canceled, "The stream was cancelled.")
	errStopping  = Error(codes.Unavailable, "The service is stopping.")
)

// Ledger implements LedgerService.
type Ledger struct {
	pb.UnimplementedLedgerServiceServer
	store    Store
	stopping context.Context
}

func (l *Ledger) GetBalance(ctx context.Context, r *pb.GetBalanceRequest) (*pb.GetBalanceResponse, error) {
	if err := validateRange("account_id", r.GetAccountId(), 1, math.MaxInt32); err != nil {
		return nil, err
	}
	balance, err := l.store.balance(ctx, r.GetAccountId())
	return &pb.GetBalanceResponse{Success: true, Message: "Balance retrieved successfully", Data: balance}, err
}

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
			if stream.Send(&pb.StreamTransactionsResponse{Data: transaction}) != nil {
				return ErrCancelled
			}
		}
	}
	return nil
}

// undated hides a context's deadline: the limiter would end a stream as soon as it sees that the deadline comes first.
type undated struct{ context.Context }

func (undated) Deadline() (time.Time, bool) { return time.Time{}, false }

// Transactions returns the batches of a stream: each holds the transactions that are due, and the sequence pauses in
// between. It ends with an error if the client cancels (the context), the service stops or the store fails.
func (l *Ledger) Transactions(
	ctx context.Context, r *pb.StreamTransactionsRequest,
) (iter.Seq2[[]*pb.Transaction, error], error) {
	limit := *cmp.Or(r.Limit, proto.Int32(streamItemsMax))
	if err := cmp.Or(
		validateRange("since", r.GetSince(), 0, math.MaxInt32),
		validateRange("rate_limit", *cmp.Or(r.RateLimit, proto.Int32(rateLimitMax)), 1, rateLimitMax),
		validateRange("limit", limit, 1, streamItemsMax),
	); err != nil {
		return nil, err
	}
	perTick, pace := pageItems, rate.NewLimiter(rate.Inf, pageItems)
	if r.RateLimit != nil {
		perTick = min(pageItems, max(1, int(*r.RateLimit)/ticksPerSecond))
		pace = rate.NewLimiter(rate.Limit(*r.RateLimit), max(perTick, int(*r.RateLimit)/catchUpPerSecond))
		pace.AllowN(time.Now(), pace.Burst()-perTick) // nothing was due before the beginning
	}
	return func(yield func([]*pb.Transaction, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(l.stopping, func() { cancel(errStopping) })()
		fail := func(err error) {
			if context.Cause(ctx) == errStopping {
				err = errStopping
			} else if ctx.Err() != nil {
				err = ErrCancelled
			}
			yield(nil, err)
		}
		for since, afterID := r.GetSince(), int32(0); limit > 0; {
			page, err := l.store.transactions(ctx, since, afterID, min(pageItems, limit))
			if err != nil {
				fail(err)
				return
			}
			if len(page) == 0 {
				return
			}
			for due := range slices.Chunk(page, perTick) {
				if err := pace.WaitN(undated{ctx}, len(due)); err != nil {
					fail(err)
					return
				}
				if !yield(due, nil) {
					return
				}
			}
			last := page[len(page)-1]
			since, afterID, limit = last.Time, last.Id, limit-int32(len(page))
		}
	}, nil
}
