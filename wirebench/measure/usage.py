"""What processes, containers and cores use over time, so that the usage in a window can be computed afterwards."""

from __future__ import annotations

import bisect
import contextlib
import functools
import json
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil

from wirebench.system import cgroup
from wirebench.system.http import fetch
from wirebench.system.processes import Child, read_cpu_s
from wirebench.targets.endpoint import Containers, Replica
from wirebench.targets.listeners import list_family

_Number = TypeVar("_Number", int, float)
#: Sums of the same readings differ by less, in seconds of CPU time and periods.
_ROUNDING = 1e-6
#: Reading a clock costs microseconds; asking a node's agent costs the node some milliseconds of CPU time.
CLOCK_INTERVAL_S = 0.025
_AGENT_INTERVAL_S = 0.2
#: Metrics are asked for from the service that is measured.
_METRICS_INTERVAL_S = 1.0
_METRIC = r"^{}(?:\{{.*\}})?[ \t]+(\S+)"
_CPU = re.compile(_METRIC.format("process_cpu_seconds_total"), re.MULTILINE)
_MEMORY = re.compile(_METRIC.format("process_resident_memory_bytes"), re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Usage:
    """One reading, or what was used between two. None is what can't be read.

    In a reading, CPU time and throttled periods count up from some start.
    """

    time_unix_ns: int
    cpu_s: float | None
    throttled_periods: float | None = None
    memory_bytes: int | None = None


def sum_if_all_known(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum; None if a value is unknown or there is none."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if listed and len(known) == len(listed) else None


def divide_if_known(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


class Watch:
    """Readings of usage every `interval_s`; `read` returns None as long as there is nothing to read."""

    def __init__(self, read: Callable[[], Usage | None], interval_s: float = CLOCK_INTERVAL_S) -> None:
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
        times = [each.time_unix_ns for each in self._readings]
        if not times or start_unix_ns < times[0] or end_unix_ns > times[-1]:
            return None

        def compute_used(values: Iterable[float | None]) -> float | None:
            known = [math.nan if value is None else value for value in values]
            start, end = (float(each) for each in np.interp((start_unix_ns, end_unix_ns), times, known))
            # A counter that has begun again, as that of a restarted service, reports nothing.
            return max(0.0, end - start) if end >= start - _ROUNDING else None

        return Usage(
            end_unix_ns,
            compute_used(each.cpu_s for each in self._readings),
            compute_used(each.throttled_periods for each in self._readings),
            self._readings[bisect.bisect_left(times, end_unix_ns)].memory_bytes,
        )


class TreeWatch(Watch):
    """Watches processes and their descendants, as they are when this is made: listing takes too long for a reading.

    Knows nothing of them if they aren't the same ones at the end: a server may have replaced a worker, or added one.
    """

    def __init__(self, root_pids: Sequence[int]) -> None:
        self._root_pids = root_pids
        self._processes = list_family(root_pids)
        super().__init__(partial(read_processes, [each.pid for each in self._processes]))

    def close(self) -> None:
        """Add the last reading, and the memory at the end, if the processes are still the same."""
        super().close()
        memory_bytes = None
        # The proportional set size counts a page that processes share once. For it the kernel visits every page: not
        # while requests come. Only Linux has it.
        with contextlib.suppress(psutil.Error, AttributeError):
            memory_bytes = sum(each.memory_full_info().pss for each in self._processes)
        is_same = self._processes == list_family(self._root_pids)
        self._readings = [replace(each, memory_bytes=memory_bytes) for each in self._readings if is_same]


def watch_replica(replica: Replica) -> Watch | None:
    """Return a watch of what a replica uses; None where that can't be read."""
    if replica.root_pids:
        return TreeWatch(replica.root_pids)
    if replica.containers:
        return Watch(partial(read_containers, replica.containers), _AGENT_INTERVAL_S)
    if replica.metrics_url:
        return Watch(partial(read_process_metrics, replica.metrics_url), _METRICS_INTERVAL_S)
    return None


@contextlib.contextmanager
def keep_reading(watches: Sequence[Watch]) -> Iterator[None]:
    """Add readings to watches while the block runs.

    Those of the same interval share a thread: while one wakes up, requests wait.
    """
    stop = threading.Event()

    def read_until_stopped(interval_s: float) -> None:
        while not stop.wait(interval_s):
            for watch in watches:
                if watch.interval_s == interval_s:
                    watch.add()

    intervals_s = {watch.interval_s for watch in watches}
    threads = [threading.Thread(target=read_until_stopped, args=[each], daemon=True) for each in intervals_s]
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


class DriverProcess:
    """The driver's process.

    Before it starts and after it has ended its CPU time is known as well: a window may open right after the start and
    close right before the end, with no reading in between.
    """

    def __init__(self) -> None:
        self._child: Child | None = None

    def watch(self, child: Child) -> None:
        self._child = child

    def read_usage(self) -> Usage | None:
        """Read its CPU time, and how often its cgroup, which is ours, met a limit."""
        now_ns = time.time_ns()
        used_s = self._child.read_cpu_s() if self._child else 0.0
        return None if used_s is None else Usage(now_ns, used_s, read_throttled_periods())


def read_throttled_periods(membership: Path = cgroup.MEMBERSHIP, root: Path = cgroup.ROOT) -> int | None:
    """Return in how many periods our cgroup, the generator too, met its CPU limit; None if it is unreadable."""
    stats = (cgroup.read_fields(folder / "cpu.stat") for folder in cgroup.list_folders("cpu", membership, root))
    return next((each["nr_throttled"] for each in stats if "nr_throttled" in each), None)


def read_processes(pids: Sequence[int]) -> Usage | None:
    """Read the CPU time of processes; None if one has gone or can't be seen: the sum would be too small."""
    now_ns = time.time_ns()
    used_s = sum_if_all_known(map(read_cpu_s, pids))
    return None if used_s is None else Usage(now_ns, used_s)


def read_cores(cores: frozenset[int]) -> Usage:
    """Read how long cores were busy with any process, and the time that the hypervisor gave to other machines.

    Where the kernel doesn't count what runs on each core, it looks at each tick which process runs: it misses up to a
    tenth of what processes use that wake and sleep thousands of times a second.
    """
    now_ns = time.time_ns()
    if not cores:  # reading takes longer than the other clocks
        return Usage(now_ns, 0.0)
    all_cores: list[Any] = psutil.cpu_times(percpu=True)
    used_s = _find_core_reader()()
    # The kernel counts guests' time in `user` and `nice`, too.
    not_busy = ("idle", "iowait", "guest", "guest_nice")
    busy_s = (
        used_s[core] + float(all_cores[core].steal)
        if core in used_s
        else math.fsum(value for name, value in all_cores[core]._asdict().items() if name not in not_busy)
        for core in cores
        if core < len(all_cores)
    )
    return Usage(now_ns, math.fsum(busy_s))


@functools.cache
def _find_core_reader() -> Callable[[], dict[int, float]]:
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


def fetch_text(url: str) -> str:
    """Return what a service answers. Raises OSError if that isn't 200."""
    reply = fetch(url)
    if reply.status != HTTPStatus.OK:
        raise OSError(f"status {reply.status}")
    return reply.body.decode()


def read_process_metrics(url: str) -> Usage | None:
    """Read what a service's processes have used from its own metrics, all samples added up; None if they lack it."""
    with contextlib.suppress(OSError, ValueError):
        begun_ns, text = time.time_ns(), fetch_text(url)
        now_ns = (begun_ns + time.time_ns()) // 2  # it may be far away
        cpu, memory = (list(map(float, metric.findall(text))) for metric in (_CPU, _MEMORY))
        if cpu:
            return Usage(now_ns, sum(cpu), memory_bytes=int(sum(memory)) if memory else None)
    return None


def read_containers(containers: Containers) -> Usage | None:
    """Ask the agent on a pod's node (`wirebench.system.cgroup_agent`) what its containers have used together.

    None if one is missing, or the agent doesn't answer.
    """
    there = read_pod(containers.agent_url, containers.pod_uid)
    used = [there[each] for each in containers.ids if each in there]
    if not used or len(used) < len(containers.ids):
        return None
    return Usage(
        time_unix_ns=used[-1].time_unix_ns,
        cpu_s=sum_if_all_known(each.cpu_s for each in used),
        throttled_periods=sum_if_all_known(each.throttled_periods for each in used),
        memory_bytes=sum_if_all_known(each.memory_bytes for each in used),
    )


def read_pod(agent_url: str, pod_uid: str) -> dict[str, Usage]:
    """Return what each container of a pod has used, by its id; empty if the agent doesn't answer."""
    try:
        return {
            each: Usage(**used) for each, used in json.loads(fetch_text(f"{agent_url}/containers/{pod_uid}")).items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
