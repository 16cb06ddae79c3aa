"""What a service uses: CPU, memory and throttling, of its process tree and its cgroup."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import psutil
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from services.platform.settings import Settings

_CPU_STAT_FILES = (Path("/sys/fs/cgroup/cpu.stat"), Path("/sys/fs/cgroup/cpu/cpu.stat"))  # cgroup v2, v1
_CPUCLOCK_SCHED = 2


class ResourceCollector(Collector):
    """Reads the figures at the scrape."""

    def __init__(self, root_pid: int, settings: Settings) -> None:
        self._root_pid = root_pid
        self._settings = settings

    def collect(self) -> Iterator[Metric]:
        """Yield the process tree's CPU and memory, the cgroup's throttling, and what was built."""
        pids = process_tree(self._root_pid)
        yield CounterMetricFamily(
            "wirebench_cpu_seconds", "CPU time of all processes of the service.", sum(map(cpu_seconds, pids))
        )
        yield GaugeMetricFamily(
            "wirebench_memory_bytes",
            "Resident memory of all processes, shared pages counted once.",
            sum(map(memory_bytes, pids)),
        )
        throttled = throttled_periods()
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


def process_tree(root_pid: int) -> list[int]:
    """Return the process and all its descendants."""
    return [root_pid, *(child.pid for child in psutil.Process(root_pid).children(recursive=True))]


def cpu_seconds(pid: int) -> float:
    """Return a process's CPU time in seconds, of all its threads, to the nanosecond.

    The clock's number is made as by clock_getcpuclockid(3). A process that has ended counts as 0.
    """
    try:
        return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)
    except OSError:
        return 0.0


def memory_bytes(pid: int) -> int:
    """Return a process's proportional set size, in bytes; 0 for a process that has ended."""
    try:
        return int(psutil.Process(pid).memory_full_info().pss)
    except psutil.Error:
        return 0


def throttled_periods() -> int | None:
    """Return how often the CPU limit of this cgroup was met, or None where there is no such count."""
    for path in _CPU_STAT_FILES:
        try:
            fields = dict(line.split() for line in path.read_text(encoding="ascii").splitlines())
            return int(fields["nr_throttled"])
        except (OSError, ValueError, KeyError):
            continue
    return None
