package cli

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// The shortest time slice that Linux gives.
const sliceNS = 100_000

// shortenSlices asks Linux for short time slices. A program that is woken with a shorter slice than the one that runs
// doesn't wait for the end of the other's, which takes some milliseconds: requests would leave late, and replies would be read
// late. It takes no share of the CPU from others and no privilege. Before Linux 6.12 it has no effect.
func shortenSlices() {
	// A thread that isn't reached yet may start another; the others pass their slice on.
	for passes := 0; passes < 3 && shortenEach(); passes++ {
	}
}

// shortenEach reports whether a thread had another slice.
func shortenEach() bool {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	changed := false
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		attributes, err := unix.SchedGetAttr(id, 0)
		if err != nil || attributes.Policy != unix.SCHED_NORMAL || attributes.Runtime == sliceNS {
			continue
		}
		attributes.Runtime = sliceNS
		changed = unix.SchedSetAttr(id, attributes, 0) == nil || changed
	}
	return changed
}
