package application

import (
	"cmp"
	"context"
	"iter"
	"math"
	"time"

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
	tick = time.Millisecond
	// A client that pauses to read isn't sent everything that was due meanwhile, which would exceed its limit.
	catchUpMax = 100 * time.Millisecond
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
	return func(yield func([]*pb.Transaction, error) bool) {
		pace := newPace(r.GetRateLimit())
		for afterID := int32(0); limit > 0; {
			page, err := l.store.transactions(ctx, r.GetSince(), afterID, min(pageItems, limit))
			if err == nil && len(page) == 0 {
				return
			}
			for err == nil && len(page) > 0 {
				var due int
				if due, err = pace.wait(ctx, l.stopping, len(page)); err == nil {
					if !yield(page[:due], nil) {
						return
					}
					afterID, limit, page = page[due-1].Id, limit-int32(due), page[due:]
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}, nil
}

// pace says how many items of a stream are due.
type pace struct {
	interval time.Duration // 0: as fast as the client reads
	next     time.Time
}

func newPace(perSecond int32) *pace {
	p := &pace{next: time.Now()}
	if perSecond > 0 {
		p.interval = time.Second / time.Duration(perSecond)
	}
	return p
}

// wait returns when items are due, and how many: 1 to most.
func (p *pace) wait(ctx, stopping context.Context, most int) (int, error) {
	if pause := time.Until(p.next); p.interval > 0 && pause > 0 {
		timer := time.NewTimer(max(pause, tick))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-stopping.Done():
		}
	}
	if ctx.Err() != nil {
		return 0, ErrCancelled
	}
	if stopping.Err() != nil {
		return 0, errStopping
	}
	return p.take(time.Now(), most), nil
}

// take counts the items that are due at a time, at least one.
func (p *pace) take(now time.Time, most int) int {
	if p.interval == 0 {
		return most
	}
	if late := now.Add(-catchUpMax); p.next.Before(late) {
		p.next = late
	}
	due := max(1, min(most, int(now.Sub(p.next)/p.interval)+1))
	p.next = p.next.Add(time.Duration(due) * p.interval)
	return due
}
