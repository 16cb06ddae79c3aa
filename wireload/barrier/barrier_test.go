package barrier

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestNobodyGoesOnBeforeAllHaveArrived(t *testing.T) {
	var tried Barrier
	var arrived atomic.Int64
	var group sync.WaitGroup
	const users, rounds = 8, 100
	for range users {
		group.Go(func() {
			for round := range rounds {
				arrived.Add(1)
				tried.Wait(t.Context(), users, func() {})
				if seen := arrived.Load(); seen < int64(users*(round+1)) {
					t.Errorf("round %d: continued after %d arrivals", round, seen)
				}
			}
		})
	}
	group.Wait()
}

func TestAnInterruptEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried Barrier
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			tried.Wait(ctx, 2, func() { t.Error("no other user has arrived") })
			close(done)
		}()
		synctest.Wait()
		cancel()
		<-done
	})
}
