package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestNobodyGoesOnBeforeAllHaveArrived(t *testing.T) {
	const users, rounds = 8, 100
	tried := Barrier{users: users, over: t.Context().Done()}
	var arrived atomic.Int64
	var group sync.WaitGroup
	for range users {
		group.Go(func() {
			for round := range rounds {
				arrived.Add(1)
				tried.Wait()
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
		ctx, cancel := context.WithCancel(t.Context())
		tried := Barrier{users: 2, over: ctx.Done()}
		done := make(chan struct{})
		go func() {
			tried.wait(func() { t.Error("no other user has arrived") })
			close(done)
		}()
		synctest.Wait()
		cancel()
		<-done
	})
}
