"""CPU time of server and generator while a load runs, to be read at the window's edges afterwards."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import numpy as np
import psutil

from wirebench.processes import Child

_INTERVAL_S = 0.025
_CPUCLOCK_SCHED = 2


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


@dataclass(slots=True)
class _Timeline:
    """Cumulative CPU seconds over time."""

    times_ns: list[int] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def add(self, time_ns: int, value_s: float) -> None:
        self.times_ns.append(time_ns)
        self.cpu_s.append(value_s)

    def between(self, start_ns: int, end_ns: int) -> float | None:
        """Return the CPU seconds used between two moments, interpolated; None if they weren't both watched."""
        if not self.times_ns or start_ns < self.times_ns[0] or end_ns > self.times_ns[-1]:
            return None
        start, end = np.interp([start_ns, end_ns], self.times_ns, self.cpu_s)
        return float(end - start)


class Sampler:
    """Reads CPU clocks forty times a second, in a thread of its own, while the `with` block runs."""

    def __init__(self, server_pids: tuple[int, ...]) -> None:
        self._server_pids = server_pids
        self._generator_pid: int | None = None
        self._server = _Timeline()
        self._generator = _Timeline()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        """Start reading."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()
        self._sample()

    def watch(self, child: Child) -> None:
        """Take this process as the generator from now on."""
        self._generator_pid = child.pid

    def server_cpu_s(self, start_ns: int, end_ns: int) -> float | None:
        """Return the server's CPU seconds between two moments in nanoseconds since 1970; None if not watched."""
        return self._server.between(start_ns, end_ns)

    def generator_cpu_s(self, start_ns: int, end_ns: int) -> float | None:
        """Return the generator's CPU seconds between two moments in nanoseconds since 1970; None if not watched."""
        return self._generator.between(start_ns, end_ns)

    def _sample_until_stopped(self) -> None:
        while not self._stop.wait(_INTERVAL_S):
            self._sample()

    def _sample(self) -> None:
        now_ns = time.time_ns()
        values = [cpu_s(pid) for pid in self._server_pids]
        known = [value for value in values if value is not None]
        # A process that has gone, or can't be seen, makes the sum unknown and not smaller.
        if values and len(known) == len(values):
            self._server.add(now_ns, sum(known))
        value = cpu_s(self._generator_pid) if self._generator_pid else None
        if value is not None:
            self._generator.add(now_ns, value)
