"""Gates: checks that a measurement is fit to be used, each with what to do if it isn't."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wirebench.measure.record import Gate, StreamFigures

_SPEED = ("throughput", "p50", "p99")
_ALL = (*_SPEED, "cpu")
#: What streams are compared by in place of each.
_OF_STREAMS = {"throughput": "item_rate", "p50": "first_item", "p99": "gap", "cpu": "item_cpu"}

GENERATOR_CPU_MAX = 0.9
CEILING_SHARE_MAX = 0.7
ERROR_RATE_MAX = 0.001
RATE_ERROR_MAX = 0.01
DROPPED_MAX = 0
MISMATCHES_MAX = 0
#: A quantile needs ten samples beyond it.
SAMPLES_FOR_P99 = 1000
SAMPLES_FOR_P50 = 20
DRIFT_MAX = 0.1
DRIFT_SECONDS_MIN = 4
FAIRNESS_MIN = 0.9
COUNT_ERROR_MAX = 0.0
SERVED_MIN = 0.85
INTERFERENCE_MAX = 0.05
#: How many connections a busy core of the generator holds back to prepare their next request: docs/method.md.
HELD_BY_A_CORE = 0.5


@dataclass(frozen=True, slots=True)
class Evidence:
    """What gates look at; None for what could not be seen, and then there is no such gate.

    `in_flight` are the requests that were on their way at a moment, on average, and `p99_s` is of the successful ones'
    service time. `per_second` are the successful requests in each full second of the window. For streams the last two
    look at items: `p99_s` is the time to the first one.
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
    #: CPU limits of all that was at work on a machine that they share, as a share of its cores.
    host_share: float | None
    #: None also where nobody promises that replicas get equal shares.
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


def check(evidence: Evidence) -> tuple[Gate, ...]:
    """Return all gates that the evidence allows, passed or not."""
    closed = _connection_gates(evidence) if evidence.rate_asked_per_s is None else ()
    gates = (
        *_load_gates(evidence),
        *closed,
        *_outcome_gates(evidence),
        *_stream_gates(evidence),
        *_disruption_gates(evidence),
        *_machine_gates(evidence),
    )
    return tuple(map(_about_streams, gates)) if evidence.streams else gates


def _about_streams(gate: Gate) -> Gate:
    return gate.model_copy(update={"metrics": tuple(_OF_STREAMS[name] for name in gate.metrics)})


def _load_gates(evidence: Evidence) -> Iterator[Gate]:
    if evidence.generator_cpu_share is not None:
        yield _at_most(
            "generator_cpu",
            evidence.generator_cpu_share,
            GENERATOR_CPU_MAX,
            unit="of its cores",
            metrics=_SPEED,
            advice="the generator was the bottleneck: give it more cores, or lower the concurrency or rate",
        )
    if evidence.ceiling_share is not None:
        yield _at_most(
            "ceiling",
            evidence.ceiling_share,
            CEILING_SHARE_MAX,
            unit="of what the driver makes at most",
            metrics=_SPEED,
            advice="the driver was nearly full: take a faster one, lower the rate, or give it more cores",
        )
    if evidence.rate_asked_per_s is not None:
        yield _at_most(
            "dropped_iterations",
            evidence.dropped_iterations,
            DROPPED_MAX,
            unit="requests",
            metrics=_SPEED,
            advice="requests were due and never sent: raise the concurrency, or lower the rate",
        )
        yield _at_most(
            "rate_error",
            abs(evidence.rate_achieved_per_s / evidence.rate_asked_per_s - 1),
            RATE_ERROR_MAX,
            unit="of the rate asked for",
            metrics=_ALL,
            advice="the load was not what was asked for: lower the rate, or give the generator more cores",
        )


def _connection_gates(evidence: Evidence) -> Iterator[Gate]:
    """Check a closed load: that all its connections were used, and all through the window."""
    if evidence.generator_cores_busy is not None:
        held = HELD_BY_A_CORE * evidence.generator_cores_busy
        yield _at_least(
            "connections",
            (evidence.in_flight + held) / evidence.concurrency,
            SERVED_MIN,
            unit="of them in use",
            metrics=_ALL,
            advice="some were not open yet, or got no reply: lengthen load.warmup_s, lower the concurrency, or see "
            "whether the service limits connections",
        )
    if evidence.calls_missing is not None:
        yield _at_most(
            "calls",
            evidence.calls_missing,
            0,
            unit="calls were not made in time",
            metrics=_ALL,
            advice="lengthen load.window_s, which is the longest that all calls together may take",
        )
    if evidence.p99_s is not None and evidence.warmup_s is not None:
        yield _at_most(
            "warmup",
            evidence.p99_s,
            evidence.warmup_s,
            unit="s at the p99",
            metrics=_ALL,
            advice="requests took longer than the warm-up, and the first ones of connections just opened ended in the "
            "window: lengthen load.warmup_s",
        )


def _outcome_gates(evidence: Evidence) -> Iterator[Gate]:
    yield _at_most(
        "error_rate",
        _error_rate(evidence),
        ERROR_RATE_MAX,
        unit="of requests",
        metrics=_ALL,
        advice="see the error texts and the service's log; errors are often faster than answers",
    )
    yield _at_least(
        "samples",
        evidence.streams.items if evidence.streams else evidence.requests - evidence.failed,
        SAMPLES_FOR_P99,
        unit="items" if evidence.streams else "requests",
        metrics=("p99",),
        advice="too few for a p99: lengthen load.window_s",
    )
    yield _at_most(
        "conformance",
        evidence.mismatches,
        MISMATCHES_MAX,
        unit="wrong replies",
        metrics=_ALL,
        advice="the service answered wrongly under load: run `wirebench verify`",
    )
    # A load that changes drifts by its nature.
    if evidence.is_steady and len(evidence.per_second) >= DRIFT_SECONDS_MIN:
        half = len(evidence.per_second) // 2
        first, last = sum(evidence.per_second[:half]), sum(evidence.per_second[-half:])
        yield _at_most(
            "drift",
            abs(last / first - 1) if first else 1.0,
            DRIFT_MAX,
            unit="from the window's first half to its last",
            metrics=_ALL,
            advice="it had not settled: lengthen load.warmup_s, and see what else runs on the machine",
        )
    if evidence.counted_by_server is not None:
        yield _at_most(
            "counts",
            abs(evidence.counted_by_server - evidence.sent),
            COUNT_ERROR_MAX,
            unit="requests that driver and server count differently",
            metrics=_ALL,
            advice="something else sent requests, or a worker was replaced: see the service's log",
        )


def _error_rate(evidence: Evidence) -> float:
    """Return which share of the requests failed: all of none, except that long streams may all be on their way."""
    if not evidence.requests:
        return 0.0 if evidence.streams and evidence.streams.items else 1.0
    return evidence.failed / evidence.requests


def _stream_gates(evidence: Evidence) -> Iterator[Gate]:
    if evidence.streams is None:
        return
    first_item, gap = evidence.streams.first_item, evidence.streams.gap
    yield _at_least(
        "first_items",
        first_item.count if first_item else 0,
        SAMPLES_FOR_P50,
        unit="streams that began",
        metrics=("p50",),
        advice="too few for the median time to the first item: lengthen load.window_s, or shorten the streams",
    )
    if evidence.item_rate_limit_per_s is not None and gap is not None:
        yield _at_most(
            "rate_limit",
            abs(1e3 / gap.mean_ms / evidence.item_rate_limit_per_s - 1),
            RATE_ERROR_MAX,
            unit="of the rate that items were asked for at",
            metrics=_ALL,
            advice="the service didn't keep streams at their rate limit: lower it or the concurrency, or see its log",
        )


def _disruption_gates(evidence: Evidence) -> Iterator[Gate]:
    if evidence.outside_window_s is not None:
        yield _at_most(
            "disruption",
            evidence.outside_window_s,
            0.0,
            unit="s of it outside of the window",
            metrics=_ALL,
            advice="the replicas were not all ready again when the window closed: lengthen load.window_s",
        )


def _machine_gates(evidence: Evidence) -> Iterator[Gate]:
    if evidence.shares_cores is not None:
        yield _at_most(
            "shared_cores",
            int(evidence.shares_cores),
            0,
            unit="",
            metrics=_SPEED,
            advice="server and generator take CPU time from each other: use a machine with two cores or more",
        )
    if evidence.interference is not None:
        yield _at_most(
            "interference",
            evidence.interference,
            INTERFERENCE_MAX,
            unit="of the pinned cores",
            metrics=_ALL,
            advice="other programs, or other machines of the same host, took CPU time: close them, or run again later",
        )
    if evidence.host_share is not None:
        yield _at_most(
            "shared_host",
            evidence.host_share,
            1.0,
            unit="of its cores are promised",
            metrics=_SPEED,
            advice="the nodes are one machine, which hasn't the cores for all limits at once: lower limits or replicas",
        )
    if evidence.replica_fairness is not None:
        yield _at_least(
            "replica_balance",
            evidence.replica_fairness,
            FAIRNESS_MIN,
            unit="Jain's index over replicas",
            metrics=_ALL,
            advice="some replicas had most of the connections: make the concurrency a multiple of the replicas",
        )
    if evidence.generator_throttled_periods is not None:
        yield _at_most(
            "throttled_generator",
            evidence.generator_throttled_periods,
            0,
            unit="periods",
            metrics=_SPEED,
            advice="the generator met its CPU limit: lift the limit",
        )


def _at_most(name: str, value: float, limit: float, **words: Any) -> Gate:  # noqa: ANN401 - fields of Gate
    return Gate(name=name, passed=value <= limit, value=value, limit=limit, **words)


def _at_least(name: str, value: float, limit: float, **words: Any) -> Gate:  # noqa: ANN401
    return Gate(name=name, passed=value >= limit, value=value, limit=limit, **words)
