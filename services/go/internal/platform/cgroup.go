package platform

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// What the only hierarchy of version 2 is called here; those of version 1 go by their controllers.
const v2 = ""

// controlGroup is the control groups that a process is in, version 1 or 2: what they have used, and when they were held
// back. It reads the files anew at each call. What isn't there is nil: another system, or a controller that is off.
//
// Files and fields are those of cgroups(7) and of the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
type controlGroup struct{ folders map[string]string }

// cpuSeconds is the CPU time of all processes that are or were in the group.
func (c controlGroup) cpuSeconds() *float64 {
	if folder, ok := c.folders["cpuacct"]; ok {
		return scaled(number(filepath.Join(folder, "cpuacct.usage")), 1e9)
	}
	return scaled(c.cpuStatistic("usage_usec"), 1e6)
}

// throttledPeriods is in how many periods the group met its CPU limit.
func (c controlGroup) throttledPeriods() *int64 { return c.cpuStatistic("nr_throttled") }

// memoryBytes is the working set: memory in use, without cached files that can go at once. It is the figure that
// Kubernetes shows and evicts by.
func (c controlGroup) memoryBytes() *int64 {
	folder, usage, cache := c.folders["memory"], "memory.usage_in_bytes", "total_inactive_file"
	if folder == "" {
		folder, usage, cache = c.folders[v2], "memory.current", "inactive_file"
	}
	if folder == "" {
		return nil
	}
	used := number(filepath.Join(folder, usage))
	if used == nil {
		return nil
	}
	working := max(0, *used-fields(filepath.Join(folder, "memory.stat"))[cache])
	return &working
}

func (c controlGroup) cpuStatistic(name string) *int64 {
	folder := c.folders["cpu"]
	if folder == "" {
		folder = c.folders[v2]
	}
	if folder == "" {
		return nil
	}
	if value, ok := fields(filepath.Join(folder, "cpu.stat"))[name]; ok {
		return &value
	}
	return nil
}

// findControlGroup finds the folders of a process, by its folder in /proc.
//
// /proc/self/cgroup names groups from the top of their hierarchy, /proc/self/mountinfo says where it is mounted, and from
// which group down: in a container of version 1 that is the container's own, though its path is the host's.
func findControlGroup(proc string) controlGroup {
	groups := make(map[string]string)
	for _, line := range lines(filepath.Join(proc, "cgroup")) {
		if parts := strings.SplitN(line, ":", 3); len(parts) == 3 {
			for _, controller := range strings.Split(parts[1], ",") {
				groups[controller] = parts[2]
			}
		}
	}
	folders := make(map[string]string)
	for _, line := range lines(filepath.Join(proc, "mountinfo")) {
		place, source, _ := strings.Cut(line, " - ")
		places, sources := strings.Fields(place), strings.Fields(source)
		if len(places) < 5 || len(sources) < 3 {
			continue
		}
		var mounted []string
		switch sources[0] {
		case "cgroup":
			mounted = strings.Split(sources[2], ",")
		case "cgroup2":
			mounted = []string{v2}
		}
		for name := range maps.Keys(groups) {
			if _, known := folders[name]; !known && slices.Contains(mounted, name) {
				folders[name] = below(places[4], places[3], groups[name])
			}
		}
	}
	return controlGroup{folders}
}

// below returns where a group lies in a mount that begins with the group top.
func below(mount, top, group string) string {
	relative, err := filepath.Rel(top, group)
	if err != nil || strings.HasPrefix(relative, "..") {
		return mount
	}
	folder := filepath.Join(mount, relative)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return mount
	}
	return folder
}

func lines(path string) []string {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

func number(path string) *int64 {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	value, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	if err != nil {
		return nil
	}
	return &value
}

// fields returns the numbers of a file that has a name and a number on each line.
func fields(path string) map[string]int64 {
	values := make(map[string]int64)
	for _, line := range lines(path) {
		if name, text, ok := strings.Cut(line, " "); ok {
			if value, err := strconv.ParseInt(text, 10, 64); err == nil {
				values[name] = value
			}
		}
	}
	return values
}

func scaled(value *int64, divisor float64) *float64 {
	if value == nil {
		return nil
	}
	quotient := float64(*value) / divisor
	return &quotient
}
