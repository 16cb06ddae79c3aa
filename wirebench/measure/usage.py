"""What services and the generator use over time, so that it can be told for the window alone afterwards."""

from __future__ import annotations

import bisect
import http.client
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import psutil

from wirebench.measure.throttling import throttled_periods
from wirebench.processes import Child

_CPUCLOCK_SCHED = 2
_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Usage:
    """One reading. CPU time and throttled periods count up from some start; None is what can't be read."""

    time_unix_ns: int
    cpu_s: float | None
    throttled_periods: float | None = None
    memory_bytes: int | None = None

    def since(self, before: Usage) -> Usage:
        """Return what was used from an earlier reading on, and the memory at this one."""
        return Usage(
            self.time_unix_ns,
            _minus(self.cpu_s, before.cpu_s),
            _minus(self.throttled_periods, before.throttled_periods),
            self.memory_bytes,
        )


def cpu_s(pid: int) -> float | None:
    """Return the CPU time of a process, all its threads, in seconds; None if it has ended.

    To the nanosecond, where /proc/PID/stat has hundredths of a second: the clock's number is made as by
    clock_getcpuclockid(3).
    """
    try:
        return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)
    except OSError:
        return None


def process_tree(root_pid: int) -> tuple[int, ...]:
    """Return the ids of a process and its descendants; empty if it has ended."""
    try:
        root = psutil.Process(root_pid)
        return (root_pid, *(child.pid for child in root.children(recursive=True)))
    except psutil.NoSuchProcess:
        return ()


def of_processes(pids: Sequence[int]) -> Usage | None:
    """Read the CPU time of processes; None if one has gone or can't be seen: the sum would be too small."""
    now_ns = time.time_ns()
    known = [value for value in map(cpu_s, pids) if value is not None]
    return Usage(now_ns, sum(known)) if pids and len(known) == len(pids) else None


def of_replica(admin_url: str) -> Usage | None:
    """Ask a service on its admin port; None if it doesn't answer this time."""
    connection = http.client.HTTPConnection(urlsplit(admin_url).netloc, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/usage")
        return Usage(**json.load(connection.getresponse()))
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return None
    finally:
        connection.close()


class Generator:
    """The driver's process, once there is one."""

    def __init__(self) -> None:
        self._pids: tuple[int, ...] = ()

    def watch(self, child: Child) -> None:
        """Take this process from now on."""
        self._pids = (child.pid,)

    def usage(self) -> Usage | None:
        """Read its CPU time, and how often its cgroup, which is ours, met a limit; None without a process."""
        used = of_processes(self._pids)
        return used and replace(used, throttled_periods=throttled_periods())


class Watch:
    """Reads usage again and again, in a thread of its own, while the `with` block runs.

    `read` returns None as long as there is nothing to read.
    """

    def __init__(self, read: Callable[[], Usage | None], interval_s: float) -> None:
        self._read = read
        self._interval_s = interval_s
        self._readings: list[Usage] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read_until_stopped, name="usage", daemon=True)

    def __enter__(self) -> Self:
        """Start reading."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Read once more, and stop."""
        self._stop.set()
        self._thread.join()
        self._add()

    def between(self, start_unix_ns: int, end_unix_ns: int) -> Usage | None:
        """Return what was used between two moments, interpolated; None if they weren't both watched."""
        start, end = self._at(start_unix_ns), self._at(end_unix_ns)
        return end.since(start) if start and end else None

    def _read_until_stopped(self) -> None:
        self._add()
        while not self._stop.wait(self._interval_s):
            self._add()

    def _add(self) -> None:
        reading = self._read()
        if reading is not None:
            self._readings.append(reading)

    def _at(self, time_unix_ns: int) -> Usage | None:
        after = bisect.bisect_left(self._readings, time_unix_ns, key=lambda reading: reading.time_unix_ns)
        if after < len(self._readings) and self._readings[after].time_unix_ns == time_unix_ns:
            return self._readings[after]
        if not 0 < after < len(self._readings):
            return None
        return _interpolate(self._readings[after - 1], self._readings[after], time_unix_ns)


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


def _minus(value: float | None, before: float | None) -> float | None:
    return None if value is None or before is None else value - before
