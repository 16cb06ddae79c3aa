"""What processes use over time, so that the usage in the window alone can be computed afterwards."""

from __future__ import annotations

import bisect
import contextlib
import functools
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psutil

from wirebench.system import cgroup
from wirebench.system.processes import Child, read_cpu_s

_Number = TypeVar("_Number", int, float)
#: Sums of the same readings differ by less, in seconds of CPU time and periods.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Usage:
    """One reading. CPU time and throttled periods count up from some start; None is what can't be read."""

    time_unix_ns: int
    cpu_s: float | None
    throttled_periods: float | None = None
    memory_bytes: int | None = None

    def since(self, before: Usage) -> Usage:
        return Usage(
            self.time_unix_ns,
            _subtract(self.cpu_s, before.cpu_s),
            _subtract(self.throttled_periods, before.throttled_periods),
            self.memory_bytes,
        )


def _list_processes(root_pid: int) -> frozenset[psutil.Process]:
    try:
        root = psutil.Process(root_pid)
        return frozenset((root, *root.children(recursive=True)))
    except psutil.NoSuchProcess:
        return frozenset()


def read_processes(pids: Sequence[int]) -> Usage | None:
    """Read the CPU time of processes; None if one has gone or can't be seen: the sum would be too small."""
    now_ns = time.time_ns()
    known = [value for value in map(read_cpu_s, pids) if value is not None]
    return Usage(now_ns, sum(known)) if pids and len(known) == len(pids) else None


def read_cores(cores: frozenset[int]) -> Usage:
    """Read how long cores were busy with any process, and the time that the hypervisor gave to other machines."""
    now_ns = time.time_ns()
    if not cores:  # reading takes longer than the other clocks
        return Usage(now_ns, 0.0)
    all_cores = psutil.cpu_times(percpu=True)
    used_s = _find_reader()()
    return Usage(now_ns, sum(_sum_busy_s(all_cores[core], used_s.get(core)) for core in cores if core < len(all_cores)))


@functools.cache
def _find_reader() -> Callable[[], dict[int, float]]:
    """Return what reads for how long processes ran on each core, where anything does.

    It is looked for once: on Linux 6.18, a file that isn't in /proc, looked for forty times a second, cost a service on
    the same machine a quarter of its requests/s.
    """
    return next((read for read in (read_scheduled_s, cgroup.read_cpu_s_by_core) if read()), dict)


def read_scheduled_s(path: Path = Path("/proc/schedstat")) -> dict[int, float]:
    """Return for how long processes ran on each core, in seconds; nothing where the kernel doesn't count it.

    The field is the seventh of Documentation/scheduler/sched-stats.rst.
    """
    try:
        lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
        return {int(line[0].removeprefix("cpu")): int(line[7]) / 1e9 for line in lines if line[0].startswith("cpu")}
    except (OSError, ValueError, IndexError):
        return {}


def _sum_busy_s(times: Any, used_s: float | None) -> float:  # noqa: ANN401 - psutil's own type differs by system
    """Return for how long processes used a core, and other machines had it.

    Without `used_s`, as the kernel has it by looking which process runs at each tick: it misses up to a tenth of what
    processes use that wake and sleep thousands of times a second.
    """
    if used_s is not None:
        return used_s + float(times.steal)
    # The kernel counts guests' time in `user` and `nice`, too.
    not_busy = ("idle", "iowait", "guest", "guest_nice")
    return math.fsum(value for name, value in times._asdict().items() if name not in not_busy)


class Interference:
    """How much of some cores' time others take: not we, nor processes of ours that have ended."""

    def __init__(self, cores: frozenset[int]) -> None:
        self._cores = cores
        self._start = self._read()

    def compute_share(self) -> float:
        elapsed_s, others_s = (now - start for now, start in zip(self._read(), self._start, strict=True))
        return max(0.0, others_s) / (elapsed_s * len(self._cores)) if elapsed_s else 0.0

    def _read(self) -> tuple[float, float]:
        own = os.times()
        ours_s = own.user + own.system + own.children_user + own.children_system
        return own.elapsed, (read_cores(self._cores).cpu_s or 0.0) - ours_s


def read_throttled_periods(membership: Path = cgroup.MEMBERSHIP, root: Path = cgroup.ROOT) -> int | None:
    """Return in how many periods our cgroup, the generator too, met its CPU limit; None if it is unreadable."""
    counts = map(cgroup.read_throttled_periods, cgroup.list_folders("cpu", membership, root))
    return next((count for count in counts if count is not None), None)


class DriverProcesses:
    """The driver's processes.

    Before the first starts and after the last has ended their CPU time is known as well: a window may open right after
    a start and close right before an end, with no reading in between.
    """

    def __init__(self) -> None:
        self._children: list[Child] = []

    def watch(self, child: Child) -> None:
        self._children.append(child)

    def read_usage(self) -> Usage | None:
        """Read their CPU time, and how often their cgroup, which is ours, met a limit."""
        now_ns = time.time_ns()
        known = [used_s for child in self._children if (used_s := child.read_cpu_s()) is not None]
        if len(known) < len(self._children):
            return None
        return Usage(now_ns, math.fsum(known), read_throttled_periods())


class Watch:
    """Readings of usage every `interval_s`; `read` returns None as long as there is nothing to read."""

    def __init__(self, read: Callable[[], Usage | None], interval_s: float) -> None:
        self.interval_s = interval_s
        self._read = read
        self._readings: list[Usage] = []

    def add(self) -> None:
        """Add a reading."""
        reading = self._read()
        if reading is not None:
            self._readings.append(reading)

    def close(self) -> None:
        """Add the last reading."""
        self.add()

    def between(self, start_unix_ns: int, end_unix_ns: int) -> Usage | None:
        """Return what was used between two moments, interpolated; None if they weren't both watched."""
        start, end = self._at(start_unix_ns), self._at(end_unix_ns)
        return end.since(start) if start and end else None

    def _at(self, time_unix_ns: int) -> Usage | None:
        after = bisect.bisect_left(self._readings, time_unix_ns, key=lambda reading: reading.time_unix_ns)
        if after < len(self._readings) and self._readings[after].time_unix_ns == time_unix_ns:
            return self._readings[after]
        if not 0 < after < len(self._readings):
            return None
        return _interpolate(self._readings[after - 1], self._readings[after], time_unix_ns)


class TreeWatch(Watch):
    """Watches a process and its descendants, as they are when this is made: listing them takes too long for a reading.

    Knows nothing of them if they aren't the same ones at the end: a server may have replaced a worker, or added one.
    """

    def __init__(self, root_pid: int, interval_s: float) -> None:
        self._root_pid = root_pid
        self._processes = _list_processes(root_pid)
        self._is_complete = False
        self._memory_bytes: int | None = None
        super().__init__(partial(read_processes, [each.pid for each in self._processes]), interval_s)

    def close(self) -> None:
        """Add the last reading, and see whether the processes are still the same."""
        super().close()
        self._is_complete = bool(self._processes) and self._processes == _list_processes(self._root_pid)
        # The proportional set size counts a page that processes share once. For it the kernel visits every page: not
        # while requests come. Only Linux has it.
        with contextlib.suppress(psutil.Error, AttributeError):
            self._memory_bytes = sum(each.memory_full_info().pss for each in self._processes)

    def between(self, start_unix_ns: int, end_unix_ns: int) -> Usage | None:
        """Return what was used between two moments, and the memory at the end of the watch."""
        used = super().between(start_unix_ns, end_unix_ns) if self._is_complete else None
        return used and replace(used, memory_bytes=self._memory_bytes)


@contextlib.contextmanager
def keep_reading(watches: Sequence[Watch]) -> Iterator[None]:
    """Add readings to watches while the block runs.

    Those of the same interval share a thread: while one wakes up, requests wait.
    """
    stop = threading.Event()
    by_interval_s: dict[float, list[Watch]] = {}
    for watch in watches:
        by_interval_s.setdefault(watch.interval_s, []).append(watch)

    def read_until_stopped(interval_s: float) -> None:
        while not stop.wait(interval_s):
            for watch in by_interval_s[interval_s]:
                watch.add()

    threads = [threading.Thread(target=read_until_stopped, args=[each], daemon=True) for each in by_interval_s]
    for watch in watches:
        watch.add()
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for watch in watches:
            watch.close()


def _interpolate(before: Usage, after: Usage, time_unix_ns: int) -> Usage:
    share = (time_unix_ns - before.time_unix_ns) / (after.time_unix_ns - before.time_unix_ns)

    def between(first: float | None, second: float | None) -> float | None:
        return None if first is None or second is None else first + share * (second - first)

    return Usage(
        time_unix_ns,
        between(before.cpu_s, after.cpu_s),
        between(before.throttled_periods, after.throttled_periods),
        after.memory_bytes,
    )


def sum_if_all_known(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum; None if a value is unknown or there is none."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if listed and len(known) == len(listed) else None


def _subtract(value: float | None, before: float | None) -> float | None:
    """Return the difference; None if one isn't known, or the service's own counter has begun again."""
    if value is None or before is None or value < before - _ROUNDING:
        return None
    return max(0.0, value - before)
