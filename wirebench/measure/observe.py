"""Sends a load, and observes what can only be observed where it comes from, while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from wirebench.drivers import DRIVERS, Job
from wirebench.errors import WirebenchError
from wirebench.measure.client import connect
from wirebench.measure.counters import (
    Counts,
    count_dropped_packets,
    count_since,
    read_containers,
    read_process_metrics,
    read_replicas,
)
from wirebench.measure.proxy import ProxyRoute, route_job
from wirebench.measure.reference import measure_reference_us
from wirebench.measure.usage import (
    DriverProcesses,
    TreeWatch,
    Usage,
    Watch,
    keep_reading,
    read_cores,
    read_processes,
    sum_if_all_known,
)
from wirebench.model.application import load_builtin
from wirebench.model.frozen import FrozenModel
from wirebench.model.histogram_file import OK, HistogramFile, merge
from wirebench.targets import Cores
from wirebench.targets.target import Replica

#: Reading a clock costs microseconds; asking a node's agent costs the node some milliseconds of CPU time.
_CLOCK_INTERVAL_S = 0.025
_AGENT_INTERVAL_S = 0.2
#: Metrics are asked for from the service that is measured.
_METRICS_INTERVAL_S = 1.0
_SECOND_NS = 1_000_000_000


class ServerUse(FrozenModel):
    """What all replicas of a service used in the windows; None is what wasn't seen."""

    cpu_s: float | None = None
    memory_bytes: int | None = None
    throttled_periods: int | None = None
    #: Requests that the service itself counted during the whole load, by replica and in it by worker.
    requests: dict[str, dict[str, int]] | None = None


class GeneratorUse(FrozenModel):
    """What one generator used in the windows, of the cores that it had; None is what wasn't seen."""

    cpu_s: float | None
    cores: float | None
    throttled_periods: int | None
    #: CPU time in its busiest second: where a load changes, a generator may be at its end for a while only.
    busiest_s: float | None = None


class ProxyUse(FrozenModel):
    """What the proxy between generator and server used in the windows, and cost by itself.

    `added_ms` is by how much it made a call longer before it was told to delay any, the median of `pairs`: None where
    another of several generators measured it.
    """

    cpu_s: float | None
    added_ms: float | None
    pairs: int


class Observation(FrozenModel):
    """One generator's view of one cell; only the first of several looks at the server."""

    file: HistogramFile
    window_s: float
    #: How many full seconds are counted: those of a load in parts lie apart. None: all of the window's.
    full_seconds: int | None = None
    generator: GeneratorUse
    server: ServerUse
    #: Share of the pinned cores' time that other programs and the hypervisor took; None where it can't be told.
    interference: float | None = None
    #: CPU time of a fixed piece of work on a core of the server, before and after the load; None if it has none here.
    reference_us: float | None = None
    #: Packets that the kernel's full table of connections dropped during the load; None where there is no such table.
    dropped_packets: int | None = None
    #: None where the load went straight to the service.
    proxy: ProxyUse | None = None
    #: Why live metrics didn't get where they should have; empty if they did, or weren't asked for.
    metrics_push_problem: str = ""


@dataclass(frozen=True, slots=True)
class StartBarrier:
    """Synchronizes the generators that share a load; the default is for a single generator.

    `wait` returns when all are ready. `add_up` returns the sum of their numbers to the first of them.
    """

    wait: Callable[[], None] = lambda: None
    add_up: Callable[[int], int] = lambda sent: sent


def observe(
    job: Job,
    replicas: Sequence[Replica],
    cores: float | None,
    barrier: StartBarrier | None = None,
    pinned: Cores | None = None,
) -> Observation:
    """Send a job's load from `cores` cores, and watch the replicas that can be observed.

    `pinned` are the cores of server and generator, if they run on this machine.

    Raises WirebenchError if the driver fails, if no request was sent at all, or if a replica doesn't answer.
    """
    barrier = barrier or StartBarrier()
    generator = DriverProcesses()
    watched = pinned.all if pinned else frozenset[int]()
    before_us = _measure_reference_us(pinned)
    with ExitStack() as stack:
        route = stack.enter_context(route_job(job, replicas))
        before = read_replicas(replicas)
        servers = [watch for watch in map(_watch, replicas) if watch]
        own = Watch(generator.read_usage, _CLOCK_INTERVAL_S)
        proxy = Watch(partial(read_processes, route.proxy_pids), _CLOCK_INTERVAL_S)
        ourselves = Watch(partial(read_processes, [os.getpid()]), _CLOCK_INTERVAL_S)
        machine = Watch(partial(read_cores, watched), _CLOCK_INTERVAL_S)
        stack.enter_context(keep_reading([*servers, own, proxy, ourselves, machine]))
        barrier.wait()
        dropped_before = count_dropped_packets()
        parts = DRIVERS[job.cell.driver].run(route.job, generator.watch)
    after_us = _measure_reference_us(pinned)
    dropped = count_dropped_packets()
    sent = barrier.add_up(sum(part.sent for part in parts))
    counted = count_since(replicas, before, sent) if before else None
    used = _list_usage_in_windows(parts, own)
    throttled = sum_if_all_known(use.throttled_periods for use in used)
    window_s = sum(part.require_window().duration_s for part in parts)
    ours = [*servers, own, ourselves, *([proxy] if route.proxy_pids else [])]
    # A database's processes are neither ours nor other programs.
    can_tell = watched and servers and job.cell.store != "postgres"
    return Observation(
        file=explain_failure(merge(parts), job),
        window_s=window_s,
        full_seconds=sum(int(part.require_window().duration_s) for part in parts),
        interference=_compute_interference(parts, machine, ours, window_s * len(watched)) if can_tell else None,
        reference_us=(before_us + after_us) / 2 if before_us and after_us else None,
        dropped_packets=None if dropped is None or dropped_before is None else dropped - dropped_before,
        generator=GeneratorUse(
            cpu_s=sum_if_all_known(use.cpu_s for use in used),
            cores=cores,
            throttled_periods=None if throttled is None else round(throttled),
            busiest_s=_find_busiest_s(parts, [own, proxy] if route.proxy_pids else [own]),
        ),
        server=_summarise_server([_list_usage_in_windows(parts, server) for server in servers], counted),
        proxy=_summarise_proxy(route, _list_usage_in_windows(parts, proxy)),
        metrics_push_problem=job.metrics_push.problem if job.metrics_push else "",
    )


def _measure_reference_us(cores: Cores | None) -> float | None:
    return measure_reference_us(min(cores.server)) if cores else None


def _watch(replica: Replica) -> Watch | None:
    if replica.root_pid:
        return TreeWatch(replica.root_pid, _CLOCK_INTERVAL_S)
    if replica.containers:
        return Watch(partial(read_containers, replica.containers), _AGENT_INTERVAL_S)
    if replica.metrics_url:
        return Watch(partial(read_process_metrics, replica.metrics_url), _METRICS_INTERVAL_S)
    return None


def _summarise_server(in_windows: Sequence[Sequence[Usage]], counted: Mapping[str, Counts] | None) -> ServerUse:
    uses = [use for replica in in_windows for use in replica]
    throttled = sum_if_all_known(use.throttled_periods for use in uses)
    return ServerUse(
        cpu_s=sum_if_all_known(use.cpu_s for use in uses),
        memory_bytes=sum_if_all_known(replica[-1].memory_bytes for replica in in_windows),
        throttled_periods=None if throttled is None else round(throttled),
        requests=None if counted is None else dict(counted),
    )


def _summarise_proxy(route: ProxyRoute, in_windows: Sequence[Usage]) -> ProxyUse | None:
    if not route.proxy_pids:
        return None
    return ProxyUse(cpu_s=sum_if_all_known(use.cpu_s for use in in_windows), added_ms=route.added_ms, pairs=route.pairs)


def _compute_interference(
    parts: Sequence[HistogramFile], machine: Watch, ours: Sequence[Watch], available_s: float
) -> float | None:
    """Return which share of the cores' time others took; None if not all of our own processes are known."""
    busy_s = sum_if_all_known(use.cpu_s for use in _list_usage_in_windows(parts, machine))
    ours_s = sum_if_all_known(use.cpu_s for watch in ours for use in _list_usage_in_windows(parts, watch))
    # What a process has used is counted in ticks of 10 ms.
    return None if busy_s is None or ours_s is None else max(0.0, busy_s - ours_s) / available_s


_UNSEEN = Usage(0, None)


def _list_usage_in_windows(parts: Sequence[HistogramFile], watch: Watch) -> tuple[Usage, ...]:
    """Return what was used in each of the windows; nothing is known of one that wasn't watched whole."""
    windows = [part.require_window() for part in parts]
    return tuple(watch.between(window.start_unix_ns, window.end_unix_ns) or _UNSEEN for window in windows)


def _find_busiest_s(parts: Sequence[HistogramFile], watches: Sequence[Watch]) -> float | None:
    """Return the CPU time of the busiest full second of the windows; None if there is none, or not all are known."""
    windows = [part.require_window() for part in parts]
    starts = [
        start for each in windows for start in range(each.start_unix_ns, each.end_unix_ns - _SECOND_NS + 1, _SECOND_NS)
    ]
    seconds = [
        sum_if_all_known((watch.between(start, start + _SECOND_NS) or _UNSEEN).cpu_s for watch in watches)
        for start in starts
    ]
    known = [each for each in seconds if each is not None]
    return max(known) if known and len(known) == len(seconds) else None


def explain_failure(file: HistogramFile, job: Job) -> HistogramFile:
    """Return what a driver measured; if all failed, its first error with what a client of ours says of the service.

    Tools say little of why, each in other words. Our clients speak the built-in application alone.
    """
    if OK in file.requests_total or not file.errors or job.cell.variant:
        return file
    why = _probe_service(job)
    if not why:
        return file
    first, *others = file.errors
    explained = first.model_copy(update={"message": f"{first.message} ({why})"})
    return file.model_copy(update={"errors": (explained, *others)})


def _probe_service(job: Job) -> str:
    cell, address = job.cell, (*job.replicas, job.address)[0]
    try:
        with connect(cell.transport, address, cell.codec, job.tls) as client:
            client.call("users.get", {"id": load_builtin().seeded["users"].first})
    except WirebenchError as error:
        return f"{error.message}: {error.hint}"
    return ""
