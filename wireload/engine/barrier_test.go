package engine

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestAnInterruptEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tried := Barrier{users: 2, over: ctx.Done()}
		done := make(chan bool)
		go func() { done <- tried.wait(func() { t.Error("no other user has arrived") }) }()
		synctest.Wait()
		cancel()
		if <-done {
			t.Error("want the load to be over")
		}
	})
}
