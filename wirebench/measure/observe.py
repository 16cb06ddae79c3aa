"""Sending a load, and seeing all that can only be seen beside it: where it is sent from, and while it lasts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from wirebench.drivers import DRIVERS, HistogramFile, Job
from wirebench.drivers.histogram_file import merge
from wirebench.measure.containers import read_containers
from wirebench.measure.counters import Counts, count_since, read_replicas
from wirebench.measure.diagnosis import explained
from wirebench.measure.observation import GeneratorUse, Observation, ProxyUse, ServerUse
from wirebench.measure.usage import Generator, TreeWatch, Usage, Watch, of_cores, of_processes, sum_known
from wirebench.measure.way import Way, way_of
from wirebench.targets.target import Replica

#: Reading a clock costs microseconds; asking a node's agent costs the node some milliseconds of CPU time.
CLOCK_INTERVAL_S = 0.025
_AGENT_INTERVAL_S = 0.2
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Together:
    """How generators that share a load act as one: by default, one that is alone.

    `start` returns when all are ready; `total` returns the sum of what each of them gives it, to the first of them.
    """

    start: Callable[[], None] = lambda: None
    total: Callable[[int], int] = lambda sent: sent


ALONE = Together()


def observe(
    job: Job,
    replicas: Sequence[Replica],
    cores: float | None,
    together: Together = ALONE,
    pinned: frozenset[int] = frozenset(),
) -> Observation:
    """Send a job's load, with so many cores to do it, and watch the replicas that can be seen into.

    `pinned` are the cores of server and generator, where these run beside us.

    Raises WirebenchError if the driver fails, if no request was sent at all, or if a replica doesn't answer.
    """
    generator = Generator()
    with ExitStack() as stack:
        way = stack.enter_context(way_of(job, replicas))
        before = read_replicas(replicas)
        servers = [stack.enter_context(watch) for watch in map(_watch, replicas) if watch]
        own = stack.enter_context(Watch(generator.usage, CLOCK_INTERVAL_S))
        proxy = stack.enter_context(Watch(partial(of_processes, way.proxy_pids), CLOCK_INTERVAL_S))
        ourselves = stack.enter_context(Watch(partial(of_processes, [os.getpid()]), CLOCK_INTERVAL_S))
        machine = stack.enter_context(Watch(partial(of_cores, pinned), CLOCK_INTERVAL_S))
        together.start()
        parts = DRIVERS[job.cell.driver].run(way.job, generator.watch)
    sent = together.total(sum(part.sent for part in parts))
    counted = count_since(replicas, before, sent) if before else None
    used = _in_windows(parts, own)
    throttled = sum_known(use.throttled_periods for use in used)
    window_s = sum(part.checked_window().duration_s for part in parts)
    ours = [*servers, own, ourselves, *([proxy] if way.proxy_pids else [])]
    # A database's processes are neither ours nor strangers.
    can_tell = pinned and servers and job.cell.store != "postgres"
    return Observation(
        file=explained(merge(parts), job),
        window_s=window_s,
        interference=_interference(parts, machine, ours, window_s * len(pinned)) if can_tell else None,
        generator=GeneratorUse(
            cpu_s=sum_known(use.cpu_s for use in used),
            cores=cores,
            throttled_periods=None if throttled is None else round(throttled),
            busiest_s=_busiest_s(parts, [own, proxy] if way.proxy_pids else [own]),
        ),
        server=_server_use([_in_windows(parts, server) for server in servers], counted),
        proxy=_proxy_use(way, _in_windows(parts, proxy)),
    )


def _watch(replica: Replica) -> Watch | None:
    if replica.root_pid:
        return TreeWatch(replica.root_pid, CLOCK_INTERVAL_S)
    if replica.containers:
        return Watch(partial(read_containers, replica.containers), _AGENT_INTERVAL_S)
    return None


def _server_use(in_windows: Sequence[Sequence[Usage]], counted: Mapping[str, Counts] | None) -> ServerUse:
    """Put together what each replica used in each window."""
    uses = [use for replica in in_windows for use in replica]
    memory = sum_known(replica[-1].memory_bytes for replica in in_windows)
    throttled = sum_known(use.throttled_periods for use in uses)
    return ServerUse(
        cpu_s=sum_known(use.cpu_s for use in uses),
        memory_bytes=None if memory is None else round(memory),
        throttled_periods=None if throttled is None else round(throttled),
        requests=None if counted is None else dict(counted),
    )


def _proxy_use(way: Way, in_windows: Sequence[Usage]) -> ProxyUse | None:
    if not way.proxy_pids:
        return None
    return ProxyUse(
        cpu_s=sum_known(use.cpu_s for use in in_windows),
        added_ms=way.cost.added_ms if way.cost else None,
        pairs=way.cost.pairs if way.cost else 0,
    )


def _interference(
    parts: Sequence[HistogramFile], machine: Watch, ours: Sequence[Watch], available_s: float
) -> float | None:
    """Return which share of the cores' time others took; None if not all of our own processes are known."""
    busy_s = sum_known(use.cpu_s for use in _in_windows(parts, machine))
    ours_s = sum_known(use.cpu_s for watch in ours for use in _in_windows(parts, watch))
    # The kernel counts a core's time in ticks of 10 ms, and may count a few less than a process has used.
    return None if busy_s is None or ours_s is None else max(0.0, busy_s - ours_s) / available_s


_UNSEEN = Usage(0, None)


def _in_windows(parts: Sequence[HistogramFile], watch: Watch) -> tuple[Usage, ...]:
    """Return what was used in each of the windows; nothing is known of one that wasn't watched whole."""
    windows = [part.checked_window() for part in parts]
    return tuple(watch.between(window.start_unix_ns, window.end_unix_ns) or _UNSEEN for window in windows)


def _busiest_s(parts: Sequence[HistogramFile], watches: Sequence[Watch]) -> float | None:
    """Return the CPU time of the busiest full second of the windows; None if there is none, or not all are known."""
    windows = [part.checked_window() for part in parts]
    starts = [
        start for each in windows for start in range(each.start_unix_ns, each.end_unix_ns - _SECOND_NS + 1, _SECOND_NS)
    ]
    seconds = [
        sum_known((watch.between(start, start + _SECOND_NS) or _UNSEEN).cpu_s for watch in watches) for start in starts
    ]
    known = [each for each in seconds if each is not None]
    return max(known) if known and len(known) == len(seconds) else None
