"""Gates: the checks that a record is fit for a comparison, as one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wirebench.model.metric import CAPACITIES
from wirebench.model.record import CapacitySearch, Gate, StreamFigures
from wirebench.model.scenario import ERROR_SHARE_MAX

_SPEED = ("throughput", "p50", "p99")
_ALL = (*_SPEED, "cpu")
#: What streams are compared by in place of each.
_OF_STREAMS = {"throughput": "item_rate", "p50": "first_item", "p99": "gap", "cpu": "item_cpu"}

FAIRNESS_MIN = 0.9
INTERFERENCE_MAX = 0.05
GENERATOR_CPU_MAX = 0.9
RATE_ERROR_MAX = 0.01
_DRIFT_SECONDS_MIN = 4
#: How many connections a busy core of the generator holds back to prepare their next request: docs/method.md.
_HELD_BY_A_CORE = 0.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """What gates look at. What could not be observed is None, and its gate does not apply.

    `in_flight` is the mean number of requests in flight. `p99_s` is the service time of successful requests.
    `per_second` counts the successful requests in each full second of the window. For streams the last two are about
    items: `p99_s` is the time to the first item.
    """

    requests: int
    failed: int
    dropped_iterations: int
    mismatches: int
    rate_achieved_per_s: float
    rate_asked_per_s: float | None
    #: Whether the load is the same all through the window.
    is_steady: bool
    concurrency: int
    in_flight: float
    #: From the start of the last user; None where every request counts, and none is to warm anything up.
    warmup_s: float | None
    #: Requests of a number of calls that were not made in time.
    calls_missing: int | None
    p99_s: float | None
    per_second: tuple[int, ...]
    #: In the window, or in its busiest second if the load isn't steady.
    generator_cpu_share: float | None
    generator_cores_busy: float | None
    shares_cores: bool | None
    #: Share of the pinned cores' time that others took.
    interference: float | None
    #: None where the kernel doesn't track connections.
    dropped_packets: float | None
    #: CPU limits of all that was at work on a machine that they share, as a share of its cores.
    host_share: float | None
    #: None also where nothing promises that replicas get equal shares.
    replica_fairness: float | None
    sent: int
    counted_by_server: int | None
    outside_window_s: float | None
    generator_throttled_periods: float | None
    #: Of the requests/s that the driver makes at most.
    ceiling_share: float | None = None
    #: None for requests that aren't streams, and for streams without a limit.
    streams: StreamFigures | None = None
    item_rate_limit_per_s: int | None = None
    #: None of a load that isn't one; the other evidence is that of its answer's window.
    search: CapacitySearch | None = None


@dataclass(frozen=True, slots=True)
class GateRule:
    """One gate.

    `value` returns None where the gate does not apply. A value passes up to `limit`, or from it on if
    `limit_is_minimum`. `description` is for the documentation, with `{limit}` in it.
    """

    name: str
    description: str
    limit: float | Callable[[Evidence], float]
    #: Of the value and of the limit; a share begins with "of" or "from".
    unit: str
    #: The metrics that can't be trusted if the gate fails.
    metrics: tuple[str, ...]
    advice: str
    value: Callable[[Evidence], float | None]
    limit_is_minimum: bool = False
    unit_of_streams: str = ""

    def apply(self, evidence: Evidence) -> Gate | None:
        """Return the gate, passed or not; None where it does not apply."""
        value = self.value(evidence)
        if value is None:
            return None
        limit = self.limit(evidence) if callable(self.limit) else self.limit
        streams = evidence.streams is not None
        metrics = (*self.metrics, *CAPACITIES) if evidence.search else self.metrics
        return Gate(
            name=self.name,
            passed=value >= limit if self.limit_is_minimum else value <= limit,
            value=value,
            limit=limit,
            unit=self.unit_of_streams or self.unit if streams else self.unit,
            metrics=tuple(_OF_STREAMS[name] for name in self.metrics) if streams else metrics,
            advice=self.advice,
        )


def check_gates(evidence: Evidence) -> tuple[Gate, ...]:
    gates = (rule.apply(evidence) for rule in GATES)
    return tuple(gate for gate in gates if gate)


def _is_closed(evidence: Evidence) -> bool:
    return evidence.rate_asked_per_s is None


def _compute_rate_error(evidence: Evidence) -> float | None:
    if evidence.rate_asked_per_s is None:
        return None
    return abs(evidence.rate_achieved_per_s / evidence.rate_asked_per_s - 1)


def _compute_share_in_use(evidence: Evidence) -> float | None:
    if not _is_closed(evidence) or evidence.generator_cores_busy is None:
        return None
    return (evidence.in_flight + _HELD_BY_A_CORE * evidence.generator_cores_busy) / evidence.concurrency


def _compute_error_rate(evidence: Evidence) -> float:
    """Return the share of requests that failed: 1 if there are none, unless all streams are longer than the window."""
    if not evidence.requests:
        return 0.0 if evidence.streams and evidence.streams.items else 1.0
    return evidence.failed / evidence.requests


def _count_first_items(evidence: Evidence) -> int | None:
    if evidence.streams is None:
        return None
    return evidence.streams.first_item.count if evidence.streams.first_item else 0


def _compute_item_rate_error(evidence: Evidence) -> float | None:
    gap = evidence.streams.gap if evidence.streams else None
    if gap is None or evidence.item_rate_limit_per_s is None:
        return None
    return abs(1e3 / gap.mean_ms / evidence.item_rate_limit_per_s - 1)


def _compute_drift(evidence: Evidence) -> float | None:
    if not evidence.is_steady or len(evidence.per_second) < _DRIFT_SECONDS_MIN:
        return None
    half = len(evidence.per_second) // 2
    first, last = sum(evidence.per_second[:half]), sum(evidence.per_second[-half:])
    return abs(last / first - 1) if first else 1.0


def _count_difference(evidence: Evidence) -> int | None:
    return None if evidence.counted_by_server is None else abs(evidence.counted_by_server - evidence.sent)


#: All gates of a record, in the order in which they are shown. `make docs` writes docs/method.md's table from it.
GATES = (
    GateRule(
        "generator_cpu",
        "the load generator uses at most {limit:.0%} of its cores; in the busiest second under a ramp or a replay",
        limit=GENERATOR_CPU_MAX,
        unit="of its cores",
        metrics=_SPEED,
        advice="the generator was the bottleneck: give it more cores, or lower the concurrency or rate",
        value=lambda evidence: evidence.generator_cpu_share,
    ),
    GateRule(
        "ceiling",
        "the rate is at most {limit:.0%} of the driver's ceiling on as many connections "
        "([calibrated](#instrument-error) drivers)",
        limit=0.7,
        unit="of what the driver makes at most",
        metrics=_SPEED,
        advice="the driver was nearly full: take a faster one, lower the rate, or give it more cores",
        value=lambda evidence: evidence.ceiling_share,
    ),
    GateRule(
        "dropped_iterations",
        "every request that was due was sent (not under a closed load)",
        limit=0,
        unit="requests",
        metrics=_SPEED,
        advice="requests were due and never sent: raise the concurrency, or lower the rate",
        value=lambda evidence: None if _is_closed(evidence) else evidence.dropped_iterations,
    ),
    GateRule(
        "rate_error",
        "the rate is within {limit:.0%} of the rate asked for (not under a closed load)",
        limit=RATE_ERROR_MAX,
        unit="of the rate asked for",
        metrics=_ALL,
        advice="the load was not what was asked for: lower the rate, or give the generator more cores",
        value=_compute_rate_error,
    ),
    GateRule(
        "connections",
        "at least {limit:.0%} of the connections are in use (closed load)",
        limit=0.85,
        limit_is_minimum=True,
        unit="of them in use",
        metrics=_ALL,
        advice="some were not open yet, or got no reply: lengthen load.warmup_s, lower the concurrency, or see "
        "whether the service limits connections",
        value=_compute_share_in_use,
    ),
    GateRule(
        "calls",
        "all of a number of calls were made in time",
        limit=0,
        unit="calls were not made in time",
        metrics=_ALL,
        advice="lengthen load.window_s, which is the longest that all calls together may take",
        value=lambda evidence: evidence.calls_missing if _is_closed(evidence) else None,
    ),
    GateRule(
        "warmup",
        "the warm-up is at least as long as 99 % of the requests take (closed load)",
        limit=lambda evidence: evidence.warmup_s or 0.0,
        unit="s at the p99",
        metrics=_ALL,
        advice="requests took longer than the warm-up, and the first ones of connections just opened ended in the "
        "window: lengthen load.warmup_s",
        value=lambda evidence: evidence.p99_s if _is_closed(evidence) and evidence.warmup_s is not None else None,
    ),
    GateRule(
        "error_rate",
        "at most {limit:.1%} of the requests fail",
        limit=ERROR_SHARE_MAX,
        unit="of requests",
        metrics=_ALL,
        advice="see the error texts and the service's log; errors are often faster than answers",
        value=_compute_error_rate,
    ),
    GateRule(
        "resolution",
        "the highest rate that kept the objective, and the lowest that didn't, are within the search's resolution "
        "(load model `capacity`)",
        limit=lambda evidence: evidence.search.bracket_max if evidence.search else 0.0,
        unit="of the rate between the highest that was kept and the lowest that wasn't",
        metrics=_ALL,
        advice="the search did not end: raise load.windows_max, set load.from_rate_per_s, or choose an objective that "
        "can be kept",
        value=lambda evidence: evidence.search.bracket if evidence.search else None,
    ),
    GateRule(
        "samples",
        "at least {limit:,} successful requests, or items of streams: a quantile needs ten samples beyond it",
        limit=1000,
        limit_is_minimum=True,
        unit="requests",
        unit_of_streams="items",
        metrics=("p99",),
        advice="too few for a p99: lengthen load.window_s",
        value=lambda evidence: evidence.streams.items if evidence.streams else evidence.requests - evidence.failed,
    ),
    GateRule(
        "conformance",
        "no reply that was checked under load is wrong",
        limit=0,
        unit="wrong replies",
        metrics=_ALL,
        advice="the service answered wrongly under load: run `wirebench verify`",
        value=lambda evidence: evidence.mismatches,
    ),
    GateRule(
        "drift",
        "the rate differs by at most {limit:.0%} between the window's halves "
        f"(windows of {_DRIFT_SECONDS_MIN} s and over; closed and open loads, except in phases)",
        limit=0.1,
        unit="from the window's first half to its last",
        metrics=_ALL,
        advice="it had not settled: lengthen load.warmup_s, and see what else runs on the machine",
        value=_compute_drift,
    ),
    GateRule(
        "counts",
        "driver and server count the same requests",
        limit=0,
        unit="requests that driver and server count differently",
        metrics=_ALL,
        advice="something else sent requests, or a worker was replaced: see the service's log",
        value=_count_difference,
    ),
    GateRule(
        "first_items",
        "at least {limit} streams begin in the window (streams)",
        limit=20,
        limit_is_minimum=True,
        unit="streams that began",
        metrics=("p50",),
        advice="too few for the median time to the first item: lengthen load.window_s, or shorten the streams",
        value=_count_first_items,
    ),
    GateRule(
        "rate_limit",
        "the mean gap is within {limit:.0%} of the one that was asked for (streams with a rate limit)",
        limit=RATE_ERROR_MAX,
        unit="of the rate that items were asked for at",
        metrics=_ALL,
        advice="the service didn't keep streams at their rate limit: lower it or the concurrency, or see its log",
        value=_compute_item_rate_error,
    ),
    GateRule(
        "disruption",
        "all replicas are ready again before the window closes",
        limit=0,
        unit="s of it outside of the window",
        metrics=_ALL,
        advice="the replicas were not all ready again when the window closed: lengthen load.window_s",
        value=lambda evidence: evidence.outside_window_s,
    ),
    GateRule(
        "shared_cores",
        "server and generator have cores of their own",
        limit=0,
        unit="",
        metrics=_SPEED,
        advice="server and generator take CPU time from each other: use a machine with two cores or more",
        value=lambda evidence: evidence.shares_cores,
    ),
    GateRule(
        "interference",
        "other programs use at most {limit:.0%} of the pinned cores' time "
        "(services on this machine, without PostgreSQL)",
        limit=INTERFERENCE_MAX,
        unit="of the pinned cores",
        metrics=_ALL,
        advice="other programs, or other machines of the same host, took CPU time: close them, or run again later",
        value=lambda evidence: evidence.interference,
    ),
    GateRule(
        "dropped_packets",
        "the kernel's table of connections was never full (Linux with connection tracking)",
        limit=0,
        unit="packets",
        metrics=_ALL,
        advice="the kernel's table of connections was full, so that new ones waited for seconds: raise "
        "net.netfilter.nf_conntrack_max, or run again in two minutes",
        value=lambda evidence: evidence.dropped_packets,
    ),
    GateRule(
        "shared_host",
        "the CPU limits of services and generators add up to at most the cores of the one machine that all nodes are",
        limit=1.0,
        unit="of its cores are promised",
        metrics=_SPEED,
        advice="all nodes are one machine, which has too few cores for all CPU limits: lower limits or replicas",
        value=lambda evidence: evidence.host_share,
    ),
    GateRule(
        "replica_balance",
        "Jain's index of the requests by replica is at least {limit}, where the client balances",
        limit=FAIRNESS_MIN,
        limit_is_minimum=True,
        unit="Jain's index over replicas",
        metrics=_ALL,
        advice="some replicas had most of the connections: make the concurrency a multiple of the replicas",
        value=lambda evidence: evidence.replica_fairness,
    ),
    GateRule(
        "throttled_generator",
        "the generator never reached its CPU limit",
        limit=0,
        unit="periods",
        metrics=_SPEED,
        advice="the generator reached its CPU limit: raise the limit",
        value=lambda evidence: evidence.generator_throttled_periods,
    ),
)
