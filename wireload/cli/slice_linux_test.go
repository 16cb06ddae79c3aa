package cli

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAllThreadsHaveShortSlices(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || before.Runtime == 0 {
		t.Skipf("this kernel has no time slices to choose: %v", err)
	}
	shortenSlices()
	startThreads(t)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id, _ := strconv.Atoi(task.Name())
		if now, err := unix.SchedGetAttr(id, 0); err == nil && (now.Runtime != sliceNS || now.Nice != before.Nice || now.Policy != before.Policy) {
			t.Errorf("thread %d has %+v", id, now)
		}
	}
}

// startThreads starts some, which end with the test.
func startThreads(t *testing.T) {
	var running sync.WaitGroup
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	for range 8 {
		running.Add(1)
		go func() {
			runtime.LockOSThread()
			running.Done()
			<-ended
		}()
	}
	running.Wait()
}
