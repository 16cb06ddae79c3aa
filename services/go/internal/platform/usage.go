package platform

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// Of the services, in both languages.
	version       = "0.1.0"
	bytesPerKiB   = 1024
	procSelf      = "/proc/self"
	smapsRollUp   = procSelf + "/smaps_rollup"
	pssLinePrefix = "Pss:"
)

// usage is what a service has used up to a moment, and the memory that it uses then; nil is what can't be read.
type usage struct {
	TimeUnixNs       int64    `json:"time_unix_ns"`
	CPUSeconds       *float64 `json:"cpu_s"`
	ThrottledPeriods *int64   `json:"throttled_periods"`
	MemoryBytes      *int64   `json:"memory_bytes"`
}

// readUsage reads all figures at once, of this process or of its control group.
func readUsage(from string) usage {
	group := findControlGroup(procSelf)
	reading := usage{TimeUnixNs: time.Now().UnixNano(), ThrottledPeriods: group.throttledPeriods()}
	if from == cgroup {
		reading.CPUSeconds, reading.MemoryBytes = group.cpuSeconds(), group.memoryBytes()
	} else {
		reading.CPUSeconds, reading.MemoryBytes = processCPUSeconds(), processMemoryBytes()
	}
	return reading
}

func processCPUSeconds() *float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return nil
	}
	total := (time.Duration(used.Utime.Nano()) + time.Duration(used.Stime.Nano())).Seconds()
	return &total
}

// processMemoryBytes returns the proportional set size; only Linux has it.
func processMemoryBytes() *int64 {
	for _, line := range lines(smapsRollUp) {
		if rest, ok := strings.CutPrefix(line, pssLinePrefix); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return nil
			}
			size := kib * bytesPerKiB
			return &size
		}
	}
	return nil
}

// resources is the metrics of what a service uses and is; it reads the figures at the scrape.
type resources struct {
	from                             string
	cpu, memory, throttled, build    *prometheus.Desc
	serviceTransport, serviceRuntime string
}

func newResources(s *Settings) *resources {
	return &resources{
		from:             s.ResourcesFrom,
		serviceTransport: s.Transport,
		serviceRuntime:   s.Runtime,
		cpu:              prometheus.NewDesc("wirebench_cpu_seconds_total", "CPU time of all processes of the service.", nil, nil),
		memory: prometheus.NewDesc("wirebench_memory_bytes",
			"Of all processes: resident memory, shared pages counted once; of a cgroup: its working set.", nil, nil),
		throttled: prometheus.NewDesc("wirebench_cpu_throttled_periods_total",
			"Periods in which the cgroup's CPU limit was met.", nil, nil),
		build: prometheus.NewDesc("wirebench_build_info", "What this service is; always 1.",
			[]string{"version", "go", "transport", "runtime"}, nil),
	}
}

// Describe names the metrics.
func (r *resources) Describe(to chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{r.cpu, r.memory, r.throttled, r.build} {
		to <- each
	}
}

// Collect leaves out what can't be read.
func (r *resources) Collect(to chan<- prometheus.Metric) {
	reading := readUsage(r.from)
	if reading.CPUSeconds != nil {
		to <- prometheus.MustNewConstMetric(r.cpu, prometheus.CounterValue, *reading.CPUSeconds)
	}
	if reading.MemoryBytes != nil {
		to <- prometheus.MustNewConstMetric(r.memory, prometheus.GaugeValue, float64(*reading.MemoryBytes))
	}
	if reading.ThrottledPeriods != nil {
		to <- prometheus.MustNewConstMetric(r.throttled, prometheus.CounterValue, float64(*reading.ThrottledPeriods))
	}
	to <- prometheus.MustNewConstMetric(r.build, prometheus.GaugeValue, 1,
		version, strings.TrimPrefix(runtime.Version(), "go"), r.serviceTransport, r.serviceRuntime)
}
