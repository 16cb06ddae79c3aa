package metrics

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/procfs"
)

// Version is that of the services, in both languages.
const Version = "0.1.0"

// Where a container sees the CPU statistics of its own cgroup: version 2, and version 1.
var cpuStatFiles = []string{"/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"}

// RegisterProcess registers what the service is, and what it uses, read at each scrape.
func RegisterProcess(registry prometheus.Registerer, transport, runtime, store string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "wirebench_build_info", Help: "What this service is; always 1.",
		ConstLabels: prometheus.Labels{
			"transport": transport, "runtime": runtime, "implementation": "go", "store": store, "version": Version,
		},
	})
	build.Set(1)
	registry.MustRegister(build, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "wirebench_cpu_seconds_total", Help: "CPU time of the service's process.",
	}, cpuSeconds), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "wirebench_memory_bytes", Help: "Resident memory of the service's process.",
	}, residentBytes))
	if _, ok := throttledPeriods(); ok {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "wirebench_cpu_throttled_periods_total", Help: "Periods in which the cgroup's CPU limit was reached.",
		}, func() float64 {
			periods, _ := throttledPeriods()
			return periods
		}))
	}
}

// RegisterStoreWaits registers how long operations waited for a connection to the store.
func RegisterStoreWaits(registry prometheus.Registerer, read func() (count uint64, total time.Duration)) {
	registry.MustRegister(storeWaits(read))
}

type storeWaits func() (uint64, time.Duration)

var storeWaitsDesc = prometheus.NewDesc(
	"wirebench_store_wait_seconds", "How long operations waited for a connection of the pool.", nil, nil)

// Describe names the metric.
func (storeWaits) Describe(descs chan<- *prometheus.Desc) { descs <- storeWaitsDesc }

// Collect reads the pool's own statistics.
func (s storeWaits) Collect(values chan<- prometheus.Metric) {
	count, total := s()
	values <- prometheus.MustNewConstSummary(storeWaitsDesc, count, total.Seconds(), nil)
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// residentBytes returns 0 on a system without /proc.
func residentBytes() float64 {
	process, err := procfs.Self()
	if err != nil {
		return 0
	}
	stat, _ := process.Stat()
	return float64(stat.ResidentMemory())
}

func throttledPeriods() (float64, bool) {
	for _, path := range cpuStatFiles {
		content, _ := os.ReadFile(path)
		for line := range strings.Lines(string(content)) {
			if text, ok := strings.CutPrefix(line, "nr_throttled "); ok {
				periods, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				return periods, err == nil
			}
		}
	}
	return 0, false
}
