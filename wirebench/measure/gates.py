"""Gates: the checks that a record is fit for a comparison, as one table."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from wirebench.drivers import Job
from wirebench.measure.observe import Observation
from wirebench.model.histogram_file import OK, HistogramFile
from wirebench.model.record import FAIRNESS_MIN, Gate, Record
from wirebench.model.scenario import ERROR_SHARE_MAX

_SPEED = ("throughput", "p50", "p99")
_ALL = (*_SPEED, "cpu")
#: What streams are compared by in place of each.
_OF_STREAMS = {"throughput": "item_rate", "p50": "first_item", "p99": "gap", "cpu": "item_cpu"}

INTERFERENCE_MAX = 0.05
GENERATOR_CPU_MAX = 0.9
#: Where the service may use the same cores.
SHARED_CPU_MAX = 0.1
RATE_ERROR_MAX = 0.01
_DRIFT_SECONDS_MIN = 4
_DRIFT_MAX = 0.1
_SCATTER_SECONDS_MIN = 8  # fewer don't tell scatter from a trend
#: How many connections a busy core of the generator holds back to prepare their next request: docs/method.md.
_HELD_BY_A_CORE = 0.5


@dataclass(frozen=True, slots=True)
class GateInput:
    """What gates look at: a job, what its generators saw together, and the record without gates.

    `spare_cores` is that of `wirebench.measure.figures.make_record`.
    """

    job: Job
    seen: Observation
    record: Record
    spare_cores: float | None = None

    @property
    def is_closed(self) -> bool:
        return self.record.rate_asked_per_s is None


@dataclass(frozen=True, slots=True)
class GateRule:
    """One gate.

    `value` returns None where the gate does not apply. A value passes up to `limit`, or from it on if
    `limit_is_minimum`.
    """

    name: str
    value: Callable[[GateInput], float | None]
    advice: str
    limit: float | Callable[[GateInput], float] = 0.0
    #: Of the value and of the limit; a share begins with "of" or "from".
    unit: str = ""
    #: The metrics that can't be trusted if the gate fails.
    metrics: tuple[str, ...] = _ALL
    limit_is_minimum: bool = False
    unit_of_streams: str = ""
    #: Whether a search for the capacity has its worst value in the windows that decided it. The others fail where a
    #: rate is missed.
    is_of_all_windows: bool = False


def check_gates(measured: GateInput) -> tuple[Gate, ...]:
    """Return the gates that apply to a record, passed or not."""
    streams, gates = measured.record.streams is not None, []
    for rule in GATES:
        value = rule.value(measured)
        if value is None:
            continue
        limit = rule.limit(measured) if callable(rule.limit) else rule.limit
        metrics = (*rule.metrics, "capacity") if measured.record.search else rule.metrics
        gate = Gate(
            name=rule.name,
            passed=value >= limit if rule.limit_is_minimum else value <= limit,
            value=value,
            limit=limit,
            unit=rule.unit_of_streams or rule.unit if streams else rule.unit,
            metrics=tuple(_OF_STREAMS[name] for name in rule.metrics) if streams else metrics,
            advice=rule.advice,
        )
        gates.append(gate)
    return tuple(gates)


def _compute_rate_error(of: GateInput) -> float | None:
    """Return by how much the rate differs from the one asked for; in a search, by how much it is lower.

    A queue that the warm-up left may end in a window that keeps the objective of a search.
    """
    if of.record.rate_asked_per_s is None:
        return None
    excess = of.record.rate_achieved_per_s / of.record.rate_asked_per_s - 1
    return max(-excess, 0.0) if of.record.search else abs(excess)


def _compute_share_in_use(of: GateInput) -> float | None:
    """Return the share of connections that wait for a reply, or for a core of the generator.

    Little's law, L = λW: J. D. C. Little, A Proof for the Queuing Formula L = λW, Operations Research 9 (1961). Short
    streams are counted by those that ended, and streams that outlast the window by their items.
    """
    busy_s = of.seen.generator_cpu_s
    # Of a number of calls, those of a connection that has made its own are not missing.
    if not of.is_closed or of.job.load.calls or busy_s is None:
        return None
    in_flight_s = max(of.seen.file.sum_s("service"), of.seen.file.sum_s("first_item", "gap"))
    return (in_flight_s + _HELD_BY_A_CORE * busy_s) / of.record.window_s / of.job.cell.concurrency


def _compute_share_of_spare_cores(of: GateInput) -> float | None:
    """Return what the generator uses of the cores that its services' limits leave to it."""
    if of.spare_cores is None or of.seen.generator_cpu_s is None:
        return None
    return of.seen.generator_cpu_s / of.seen.window_s / max(of.spare_cores, 0.01)


def _count_missing_calls(of: GateInput) -> int | None:
    """Return how many of a number of calls were not made in time; None where the load isn't one."""
    if not of.job.load.calls or not of.is_closed:
        return None
    calls = of.job.load.calls + (of.job.load.warmup_calls or 0)
    return calls * of.job.cell.concurrency - sum(of.seen.file.requests_total.values())


def _compute_opening_s(of: GateInput) -> float | None:
    """Return how long it takes until connections have been opened and used once; None where none is to warm up.

    Under a closed load, that is how long 99 % of the requests take, or streams up to their first item. Under an open
    one, connections take turns, and each is opened by its first request.
    """
    cell, load = of.job.cell, of.job.load
    if not of.is_closed:
        rate_per_s = of.record.rate_asked_per_s
        is_looked_at = cell.connection == "keep" and cell.shape != "capacity"
        return cell.concurrency / rate_per_s if rate_per_s and is_looked_at else None
    latency = of.record.streams.first_item if of.record.streams else of.record.service
    return latency.p99_ms / 1e3 if latency and not load.calls else None


def _compute_error_rate(of: GateInput) -> float | None:
    """Return the share of requests that failed; none if all streams are longer than the window."""
    if not of.record.requests:
        return 0.0 if of.record.has_replies else None
    return of.record.failed / of.record.requests


def _compute_item_rate_error(of: GateInput) -> float | None:
    gap, limit_per_s = of.record.streams.gap if of.record.streams else None, of.job.cell.stream_rate_limit_per_s
    return abs(1e3 / gap.mean_ms / limit_per_s - 1) if gap and limit_per_s else None


def _compute_drift(of: GateInput) -> float | None:
    cell, per_second = of.job.cell, _count_full_seconds(of.seen.file)
    is_steady = cell.shape is None and not of.job.load.find_workload(cell.operation).phases
    if not is_steady or len(per_second) < _DRIFT_SECONDS_MIN:
        return None
    half = len(per_second) // 2
    first, last = sum(per_second[:half]), sum(per_second[-half:])
    return abs(last / first - 1) if first else 1.0


def _compute_drift_max(of: GateInput) -> float:
    """Return how far halves may lie apart: 10 %, in a long window also two standard errors by its seconds' scatter.

    A throttled pod serves 15 % more or less from second to second. Scatter is by the median successive difference,
    which trends and steps hardly change; 0.954 makes it the standard deviation of a normal distribution.
    """
    per_second = _count_full_seconds(of.seen.file)
    if len(per_second) < _SCATTER_SECONDS_MIN:
        return _DRIFT_MAX
    scatter = statistics.median(abs(after - before) for before, after in itertools.pairwise(per_second)) / 0.954
    return _DRIFT_MAX + 2 * scatter * math.sqrt(2 / (len(per_second) // 2)) / max(statistics.fmean(per_second), 1)


def _count_full_seconds(file: HistogramFile) -> tuple[int, ...]:
    """Return how many requests succeeded, or items of streams came, in each full second of the window."""
    seconds = int(file.require_window().duration_s)
    counts = [each.counts[:seconds] for each in file.per_second if each.code == OK]
    if file.streams:
        counts = [file.streams.items_per_second[:seconds]]
    return tuple(map(sum, itertools.zip_longest((0,) * seconds, *counts, fillvalue=0)))


def _count_difference(of: GateInput) -> int | None:
    counted = of.record.server.requests_by_replica
    return abs(sum(counted.values()) - of.record.requests_total) if counted else None


#: All gates of a record, in the order in which they are shown. docs/method.md says what each asks.
GATES = (
    GateRule(
        "generator_cpu",
        # Under a load that changes, that of the busiest second.
        lambda of: of.seen.generator_busiest_share if of.job.cell.shape else of.record.generator.cpu_share,
        # On the service's cores it takes from the service what it uses.
        limit=lambda of: SHARED_CPU_MAX if of.record.generator.shares_cores_with_server else GENERATOR_CPU_MAX,
        unit="of its cores",
        metrics=_SPEED,
        is_of_all_windows=True,
        advice="the generator was the bottleneck, or took too much of shared cores: give it more cores (bind services "
        "that run already: taskset -acp 0 PID), or lower the concurrency or rate",
    ),
    GateRule(
        "ceiling",
        lambda of: of.record.instrument.ceiling_share if of.record.instrument else None,
        limit=0.7,
        unit="of what the driver makes at most",
        metrics=_SPEED,
        is_of_all_windows=True,
        advice="the driver was nearly full: take a faster one, lower the rate, or give it more cores",
    ),
    GateRule(
        "dropped_iterations",
        lambda of: None if of.is_closed else of.record.dropped_iterations,
        unit="requests",
        metrics=_SPEED,
        advice="requests were due and never sent: raise the concurrency, or lower the rate",
    ),
    GateRule(
        "rate_error",
        _compute_rate_error,
        limit=RATE_ERROR_MAX,
        unit="of the rate asked for",
        advice="the load was not what was asked for: lower the rate, or raise the concurrency or the service's limits",
    ),
    GateRule(
        "connections",
        _compute_share_in_use,
        limit=0.85,
        limit_is_minimum=True,
        unit="of them in use",
        advice="some were not open yet, or got no reply: lengthen load.warmup_s, lower the concurrency, or see "
        "whether the service limits connections",
    ),
    GateRule(
        "calls",
        _count_missing_calls,
        unit="calls were not made in time",
        advice="lengthen load.window_s, which is the longest that all calls together may take",
    ),
    GateRule(
        "warmup",
        _compute_opening_s,
        # How long the last user warmed up.
        limit=lambda of: of.job.load.warmup_s - of.job.load.compute_spawn_s(of.job.cell.concurrency),
        unit="s",
        advice="connections were still being opened, or used for the first time, in the window: lengthen "
        "load.warmup_s, or use fewer connections",
    ),
    GateRule(
        "replies",
        lambda of: None if of.record.has_replies else 0,
        limit=1,
        limit_is_minimum=True,
        unit="replies in the window",
        advice="replies take longer than the window: lengthen load.window_s, or see whether the service hangs",
    ),
    GateRule(
        "error_rate",
        _compute_error_rate,
        limit=ERROR_SHARE_MAX,
        unit="of requests",
        advice="see the error texts and the service's log; errors are often faster than answers",
    ),
    GateRule(
        "resolution",
        lambda of: of.record.search.bracket if of.record.search else None,
        limit=lambda of: of.record.search.bracket_max if of.record.search else 0.0,
        unit="of the rate between the highest that was kept and the lowest that wasn't",
        advice="the search did not end: raise load.windows_max, set load.from_rate_per_s, or choose an objective that "
        "can be kept",
    ),
    GateRule(
        "samples",
        lambda of: of.record.streams.items if of.record.streams else of.record.requests - of.record.failed,
        limit=1000,
        limit_is_minimum=True,
        unit="requests",
        unit_of_streams="items",
        metrics=("p99",),
        advice="too few for a p99: lengthen load.window_s",
    ),
    GateRule(
        "conformance",
        lambda of: of.record.mismatches,
        unit="wrong replies",
        is_of_all_windows=True,
        advice="the service answered wrongly under load: run `wirebench verify`",
    ),
    GateRule(
        "drift",
        _compute_drift,
        limit=_compute_drift_max,
        unit="from the window's first half to its last",
        advice="the rate changed during the window: lengthen load.warmup_s, and see whether the service is throttled, "
        "and what else runs on the machine",
    ),
    GateRule(
        "counts",
        _count_difference,
        # A stream that the window's end cuts as it begins may not have reached the service.
        limit=lambda of: of.seen.file.streams.cancelled if of.seen.file.streams else 0,
        unit="requests that driver and server count differently",
        advice="something else sent requests, or workers or replicas changed: see the service's log",
    ),
    GateRule(
        "first_items",
        lambda of: getattr(of.record.streams.first_item, "count", 0) if of.record.streams else None,
        limit=20,
        limit_is_minimum=True,
        unit="streams that began",
        metrics=("p50",),
        advice="too few for the median time to the first item: lengthen load.window_s, or shorten the streams",
    ),
    GateRule(
        "rate_limit",
        _compute_item_rate_error,
        limit=RATE_ERROR_MAX,
        unit="of the rate that items were asked for at",
        advice="the service didn't keep streams at their rate limit: lower it or the concurrency, or see its log",
    ),
    GateRule(
        "interference",
        lambda of: of.seen.interference,
        limit=INTERFERENCE_MAX,
        unit="of the pinned cores",
        is_of_all_windows=True,
        advice="other programs, or other machines of the same host, took CPU time: close them, or run again later",
    ),
    GateRule(
        "dropped_packets",
        lambda of: of.seen.dropped_packets,
        unit="packets",
        is_of_all_windows=True,
        advice="the kernel's table of connections was full, so that new ones waited for seconds: raise "
        "net.netfilter.nf_conntrack_max, or run again in two minutes",
    ),
    GateRule(
        "shared_host",
        _compute_share_of_spare_cores,
        limit=GENERATOR_CPU_MAX,
        unit="of the cores that limits leave",
        metrics=_SPEED,
        is_of_all_windows=True,
        advice="all nodes are one machine, too small for these CPU limits and the generator: lower limits or replicas",
    ),
    GateRule(
        "replica_balance",
        # Only a client that balances promises to spread what it sends.
        lambda of: of.record.server.replica_fairness if of.job.cell.balancing == "headless" else None,
        limit=FAIRNESS_MIN,
        limit_is_minimum=True,
        unit="Jain's index over replicas",
        advice="some replicas had most of the connections: make the concurrency a multiple of the replicas",
    ),
    GateRule(
        "throttled_generator",
        lambda of: of.seen.generator_throttled_periods,
        unit="periods",
        metrics=_SPEED,
        is_of_all_windows=True,
        advice="the generator reached its CPU limit: raise the limit",
    ),
)
