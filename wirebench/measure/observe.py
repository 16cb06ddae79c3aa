"""Sends a load, and observes what can only be observed where it comes from, while it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Literal

from wirebench.drivers import DRIVERS, Job
from wirebench.measure.counters import count_dropped_packets, count_since, read_replicas
from wirebench.measure.proxy import open_route
from wirebench.measure.reference import measure_reference_us
from wirebench.measure.usage import (
    DriverProcess,
    Usage,
    Watch,
    divide_if_known,
    keep_reading,
    read_cores,
    read_processes,
    sum_if_all_known,
    watch_replica,
)
from wirebench.model.frozen import FrozenModel
from wirebench.model.histogram_file import HistogramFile
from wirebench.targets.cores import Cores
from wirebench.targets.endpoint import Replica

#: What a process has used is counted in ticks of 10 ms, which say nothing of shares of shorter windows.
_SHARES_FROM_S = 0.4
_SECOND_NS = 1_000_000_000
_UNSEEN = Usage(0, None)


class Observation(FrozenModel):
    """What was seen of one cell where its load came from. What was used is that of the window; None wasn't seen."""

    file: HistogramFile
    window_s: float
    generator_cpu_s: float | None = None
    generator_throttled_periods: int | None = None
    #: Share of its cores' time that it and the proxy used, and the same in its busiest second: where a load changes, a
    #: generator may be at its end for a while only.
    generator_share: float | None = None
    generator_busiest_share: float | None = None
    #: Of all replicas.
    server_cpu_s: float | None = None
    server_memory_bytes: int | None = None
    server_throttled_periods: int | None = None
    #: Requests that the service itself counted during the whole load, by replica and in it by worker.
    server_requests: dict[str, dict[str, int]] | None = None
    #: Cores of server and generator, where they run on this machine.
    pinned: Cores | None = None
    #: Share of the pinned cores' time that other programs and the hypervisor took; None where it can't be told.
    interference: float | None = None
    #: CPU time of a fixed piece of work on a core of the server, before and after the load; None if it has none here.
    reference_us: float | None = None
    #: Packets that the kernel's full table of connections dropped during the load; None where there is no such table.
    dropped_packets: int | None = None


def observe(
    job: Job,
    replicas: Sequence[Replica],
    cores: float | None = None,
    pinned: Cores | None = None,
) -> Observation:
    """Send a job's load from `cores` cores, and watch the replicas that can be observed.

    Raises WirebenchError if the driver fails, if no request was sent at all, or if a replica doesn't answer.
    """
    generator = DriverProcess()
    watched = pinned.all if pinned else frozenset[int]()
    server_cores = pinned.server if pinned else frozenset[int]()
    before_us = measure_reference_us(min(server_cores)) if server_cores else None
    with open_route(job) as (routed, proxy_pids), ExitStack() as stack:
        counts_before = read_replicas(replicas)
        servers = [watch for watch in map(watch_replica, replicas) if watch]
        load = Watch(generator.read_usage)
        generators = [load, *([Watch(partial(read_processes, proxy_pids))] if proxy_pids else [])]
        ourselves, machine = Watch(partial(read_processes, [os.getpid()])), Watch(partial(read_cores, watched))
        stack.enter_context(keep_reading([*servers, *generators, ourselves, machine]))
        dropped_before = count_dropped_packets()
        file = DRIVERS[job.cell.driver].run(routed, generator.watch)
    after_us = measure_reference_us(min(server_cores)) if server_cores else None
    dropped = count_dropped_packets()
    counted = count_since(replicas, counts_before, file.sent) if counts_before else None
    window = file.require_window()
    span = (window.start_unix_ns, window.end_unix_ns)
    here = servers if server_cores else []  # not where their metrics say what they use elsewhere
    # What isn't seen of a service, and a database's processes, are neither ours nor other programs.
    is_seen = not server_cores or all(each.root_pids for each in replicas)
    cores, watched = (cores, watched) if window.duration_s >= _SHARES_FROM_S else (None, frozenset())
    can_tell = watched and is_seen and job.cell.store != "postgres"
    busy_s, ours_s = _sum_used([machine], span), _sum_used([*here, *generators, ourselves], span)
    return Observation(
        file=file,
        window_s=window.duration_s,
        generator_cpu_s=_sum_used([load], span),
        generator_throttled_periods=_round(_sum_used([load], span, "throttled_periods")),
        generator_share=divide_if_known(_sum_used(generators, span), cores and cores * window.duration_s),
        generator_busiest_share=divide_if_known(_find_busiest_s(generators, span), cores),
        server_cpu_s=_sum_used(servers, span),
        server_memory_bytes=_round(_sum_used(servers, span, "memory_bytes")),
        server_throttled_periods=_round(_sum_used(servers, span, "throttled_periods")),
        server_requests=counted,
        pinned=pinned,
        interference=max(0.0, busy_s - ours_s) / (window.duration_s * len(watched))
        if can_tell and busy_s is not None and ours_s is not None
        else None,
        reference_us=(before_us + after_us) / 2 if before_us and after_us else None,
        dropped_packets=None if dropped is None or dropped_before is None else dropped - dropped_before,
    )


def _sum_used(
    watches: Sequence[Watch],
    span: tuple[int, int],
    field: Literal["cpu_s", "throttled_periods", "memory_bytes"] = "cpu_s",
) -> float | None:
    """Return what was used from one moment to another; None if it wasn't watched whole, or nothing was watched."""
    return sum_if_all_known(getattr(watch.between(*span) or _UNSEEN, field) for watch in watches)


def _find_busiest_s(watches: Sequence[Watch], window: tuple[int, int]) -> float | None:
    """Return the CPU time of the busiest full second of the window; None if there is none, or not all are known."""
    starts = range(window[0], window[1] - _SECOND_NS + 1, _SECOND_NS)
    seconds = [_sum_used(watches, (start, start + _SECOND_NS)) for start in starts]
    known = [each for each in seconds if each is not None]
    return max(known) if known and len(known) == len(seconds) else None


def _round(value: float | None) -> int | None:
    return None if value is None else round(value)
