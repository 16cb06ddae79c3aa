"""What a service uses and is, as metrics."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from services.platform.settings import Settings
from services.platform.usage import read_usage


class ResourceCollector(Collector):
    """Reads the figures at the scrape; leaves out what can't be read."""

    def __init__(self, root_pid: int, settings: Settings) -> None:
        self._root_pid = root_pid
        self._settings = settings

    def collect(self) -> Iterator[Metric]:
        """Yield CPU time, memory, the cgroup's throttling, and what was built."""
        reading = read_usage(self._root_pid, self._settings)
        if reading.cpu_s is not None:
            yield CounterMetricFamily(
                "wirebench_cpu_seconds", "CPU time of all processes of the service.", reading.cpu_s
            )
        if reading.memory_bytes is not None:
            yield GaugeMetricFamily(
                "wirebench_memory_bytes",
                "Of all processes: resident memory, shared pages counted once; of a cgroup: its working set.",
                reading.memory_bytes,
            )
        if reading.throttled_periods is not None:
            yield CounterMetricFamily(
                "wirebench_cpu_throttled_periods",
                "Periods in which the cgroup's CPU limit was met.",
                reading.throttled_periods,
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
