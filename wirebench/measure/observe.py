"""Sending a load, and seeing all that can only be seen beside it: where it is sent from, and while it lasts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from wirebench.drivers import DRIVERS, HistogramFile, Job
from wirebench.drivers.histogram_file import merge
from wirebench.measure.counters import Counters, read_counters
from wirebench.measure.observation import GeneratorUse, Observation, ServerUse
from wirebench.measure.usage import Generator, Usage, Watch, of_processes, of_replica, process_tree
from wirebench.targets.target import Replica

#: Reading a clock costs microseconds; asking a replica costs it half a millisecond of its CPU time.
CLOCK_INTERVAL_S = 0.025
_REPLICA_INTERVAL_S = 0.2
#: Services fold their counters twenty times a second; after this long the busiest machine has let them.
_COUNTERS_SETTLE_S = 3.0
_COUNTERS_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Together:
    """How generators that share a load act as one: by default, one that is alone.

    `start` returns when all are ready; `total` returns the sum of what each of them gives it, to the first of them.
    """

    start: Callable[[], None] = lambda: None
    total: Callable[[int], int] = lambda sent: sent


ALONE = Together()


def observe(job: Job, replicas: Sequence[Replica], cores: float | None, together: Together = ALONE) -> Observation:
    """Send a job's load, with so many cores to do it, and watch the replicas that can be seen into.

    Raises WirebenchError if the driver fails, if no request was sent at all, or if a replica doesn't answer.
    """
    before = _read_all(replicas)
    generator = Generator()
    with ExitStack() as stack:
        servers = [stack.enter_context(watch) for watch in map(_watch, replicas) if watch]
        own = stack.enter_context(Watch(generator.usage, CLOCK_INTERVAL_S))
        together.start()
        parts = DRIVERS[job.cell.driver].run(job, generator.watch)
    sent = together.total(sum(part.sent for part in parts))
    counted = _settled(replicas, before, sent) if before else None
    used = _in_windows(parts, own)
    throttled = _sum(use.throttled_periods for use in used)
    return Observation(
        file=merge(parts),
        window_s=sum(part.checked_window().duration_s for part in parts),
        generator=GeneratorUse(
            cpu_s=_sum(use.cpu_s for use in used),
            cores=cores,
            throttled_periods=None if throttled is None else round(throttled),
        ),
        server=_server_use([_in_windows(parts, server) for server in servers], counted),
    )


def _watch(replica: Replica) -> Watch | None:
    if replica.root_pid:
        return Watch(partial(of_processes, process_tree(replica.root_pid)), CLOCK_INTERVAL_S)
    if replica.admin_url:
        return Watch(partial(of_replica, replica.admin_url), _REPLICA_INTERVAL_S)
    return None


def _server_use(in_windows: Sequence[Sequence[Usage]], counted: Mapping[str, Counters] | None) -> ServerUse:
    """Put together what each replica used in each window.

    A replica on this machine tells its memory with its counters alone, where others tell it with their CPU time.
    """
    if not in_windows:
        return ServerUse()
    uses = [use for replica in in_windows for use in replica]
    seen = list((counted or {}).values())
    memory = _sum(replica[-1].memory_bytes for replica in in_windows)
    throttled = _sum(use.throttled_periods for use in uses)
    if memory is None:
        memory, throttled = _sum(each.memory_bytes for each in seen), _sum(each.throttled_periods for each in seen)
    return ServerUse(
        cpu_s=_sum(use.cpu_s for use in uses),
        memory_bytes=None if memory is None else round(memory),
        throttled_periods=None if throttled is None else round(throttled),
        requests=None if counted is None else {name: each.requests_by_worker for name, each in counted.items()},
    )


_UNSEEN = Usage(0, None)


def _in_windows(parts: Sequence[HistogramFile], watch: Watch) -> tuple[Usage, ...]:
    """Return what was used in each of the windows; nothing is known of one that wasn't watched whole."""
    windows = [part.checked_window() for part in parts]
    return tuple(watch.between(window.start_unix_ns, window.end_unix_ns) or _UNSEEN for window in windows)


def _read_all(replicas: Sequence[Replica]) -> dict[str, Counters]:
    return {replica.name: read_counters(replica.admin_url) for replica in replicas if replica.admin_url}


def _settled(replicas: Sequence[Replica], before: Mapping[str, Counters], sent: int) -> dict[str, Counters]:
    """Return what the replicas have counted since, once they have folded in the last requests."""
    deadline = time.monotonic() + _COUNTERS_SETTLE_S
    while True:
        counted = {name: counters.since(before[name]) for name, counters in _read_all(replicas).items()}
        if sum(each.requests for each in counted.values()) >= sent or time.monotonic() > deadline:
            return counted
        time.sleep(_COUNTERS_POLL_S)


def _sum(values: Iterable[float | None]) -> float | None:
    """Add up; what is unknown makes the sum unknown, and not smaller."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if listed and len(known) == len(listed) else None
