package cli

import (
	"os"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAllThreadsHaveShortSlices(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil || before.Runtime == 0 {
		t.Skipf("this kernel has no time slices to choose: %v", err)
	}
	shortenSlices()
	go func() { runtime.LockOSThread(); select {} }() // One that is started later.
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
