package application

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/pb"
)

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
