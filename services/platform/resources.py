"""What a service uses: CPU, memory and throttling, of its process tree or of its cgroup."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from importlib.metadata import version
from typing import Protocol

import psutil
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from services.platform.cgroup import Cgroup
from services.platform.settings import CGROUP, Settings

_CPUCLOCK_SCHED = 2


class Usage(Protocol):
    """Where CPU time and memory are read; None is what can't be."""

    def cpu_seconds(self) -> float | None:
        """Return the CPU time used so far, in seconds."""

    def memory_bytes(self) -> int | None:
        """Return the memory in use."""


class ResourceCollector(Collector):
    """Reads the figures at the scrape; leaves out what can't be read."""

    def __init__(self, root_pid: int, settings: Settings) -> None:
        self._settings = settings
        self._cgroup = Cgroup()
        self._usage: Usage = self._cgroup if settings.resources_from == CGROUP else ProcessTree(root_pid)

    def collect(self) -> Iterator[Metric]:
        """Yield CPU time, memory, the cgroup's throttling, and what was built."""
        cpu_s = self._usage.cpu_seconds()
        if cpu_s is not None:
            yield CounterMetricFamily("wirebench_cpu_seconds", "CPU time of all processes of the service.", cpu_s)
        memory_bytes = self._usage.memory_bytes()
        if memory_bytes is not None:
            yield GaugeMetricFamily(
                "wirebench_memory_bytes",
                "Of all processes: resident memory, shared pages counted once; of a cgroup: its working set.",
                memory_bytes,
            )
        throttled = self._cgroup.throttled_periods()
        if throttled is not None:
            yield CounterMetricFamily(
                "wirebench_cpu_throttled_periods", "Periods in which the cgroup's CPU limit was met.", throttled
            )
        build = GaugeMetricFamily(
            "wirebench_build_info",
            "What this service is; always 1.",
            labels=("version", "python", "transport", "runtime"),
        )
        build.add_metric(
            (
                version("wirebench-services"),
                platform.python_version(),
                self._settings.transport,
                self._settings.runtime,
            ),
            1,
        )
        yield build


class ProcessTree:
    """A process and its descendants."""

    def __init__(self, root_pid: int) -> None:
        """Look now for the descendants that there are."""
        self.pids = [root_pid, *(child.pid for child in psutil.Process(root_pid).children(recursive=True))]

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of all threads, in seconds; None where a process's clock can't be read."""
        clocks_s = [clock_s for clock_s in map(_cpu_clock_s, self.pids) if clock_s is not None]
        return sum(clocks_s) if len(clocks_s) == len(self.pids) else None

    def memory_bytes(self) -> int | None:
        """Return the proportional set size; None where a process's can't be read."""
        try:
            return sum(psutil.Process(pid).memory_full_info().pss for pid in self.pids)
        except (psutil.Error, AttributeError):  # only Linux has it
            return None


def _cpu_clock_s(pid: int) -> float | None:
    """Return a process's CPU time to the nanosecond; the clock's number is made as by clock_getcpuclockid(3)."""
    try:
        return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)
    except OSError:
        return None
