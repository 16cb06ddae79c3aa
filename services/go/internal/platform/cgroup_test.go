package platform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a folder with files; ROOT in a text stands for the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "ROOT", root)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func expect[T comparable](t *testing.T, what string, expected T, actual *T) {
	t.Helper()
	if actual == nil || *actual != expected {
		t.Errorf("%s: expected %v", what, expected)
	}
}

// Version 2 has all in one folder, whose path is that of the group below the mount.
func TestCgroupV2(t *testing.T) {
	root := write(t, map[string]string{
		"proc/cgroup":              "0::/pods/a\n",
		"proc/mountinfo":           "30 23 0:26 / ROOT/fs rw - cgroup2 cgroup2 rw\n",
		"fs/pods/a/cpu.stat":       "usage_usec 1500000\nnr_throttled 3\n",
		"fs/pods/a/memory.stat":    "anon 5\ninactive_file 100\n",
		"fs/pods/a/memory.current": "1100\n",
	})
	group := findControlGroup(filepath.Join(root, "proc"))
	expect(t, "CPU", 1.5, group.cpuSeconds())
	expect(t, "throttled", 3, group.throttledPeriods())
	expect(t, "memory", 1000, group.memoryBytes())
}

// In a container of version 1 only its own group is mounted, though its path is the host's.
func TestCgroupV1(t *testing.T) {
	root := write(t, map[string]string{
		"proc/cgroup": "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n",
		"proc/mountinfo": "31 23 0:27 /docker/x ROOT/cpu ro - cgroup cgroup rw,cpu,cpuacct\n" +
			"32 23 0:28 /docker/x ROOT/memory ro - cgroup cgroup rw,memory\n",
		"cpu/cpuacct.usage":            "2500000000\n",
		"cpu/cpu.stat":                 "nr_periods 9\nnr_throttled 4\n",
		"memory/memory.usage_in_bytes": "900\n",
		"memory/memory.stat":           "total_inactive_file 1000\n",
	})
	group := findControlGroup(filepath.Join(root, "proc"))
	expect(t, "CPU", 2.5, group.cpuSeconds())
	expect(t, "throttled", 4, group.throttledPeriods())
	expect(t, "memory", 0, group.memoryBytes())
}

// Where there are no groups nothing is known.
func TestNoCgroup(t *testing.T) {
	group := findControlGroup(t.TempDir())
	if group.cpuSeconds() != nil || group.throttledPeriods() != nil || group.memoryBytes() != nil {
		t.Error("something is known")
	}
}
