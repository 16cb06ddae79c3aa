"""What a service uses: CPU time, memory and throttling, of its process tree or of its cgroup."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import psutil

from services.platform.cgroup import Cgroup
from services.platform.settings import CGROUP, Settings

_CPUCLOCK_SCHED = 2


class Usage(Protocol):
    """Where CPU time and memory are read; None is what can't be."""

    def cpu_seconds(self) -> float | None:
        """Return the CPU time used so far, in seconds."""

    def memory_bytes(self) -> int | None:
        """Return the memory in use."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a service has used up to a moment, and the memory that it uses then; None is what can't be read."""

    time_unix_ns: int
    cpu_s: float | None
    throttled_periods: int | None
    memory_bytes: int | None


def read_usage(root_pid: int, settings: Settings) -> Reading:
    """Read all figures at once: far cheaper than a page of metrics; of a cgroup, many times a second."""
    cgroup = Cgroup()
    usage: Usage = cgroup if settings.resources_from == CGROUP else ProcessTree(root_pid)
    return Reading(time.time_ns(), usage.cpu_seconds(), cgroup.throttled_periods(), usage.memory_bytes())


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
