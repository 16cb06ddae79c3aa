"""What a measurement comes to: the record of one cell in one block."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

from wirebench.drivers.histogram_file import ErrorText, Handshakes
from wirebench.scenario import Cell
from wirebench.scenario.cell import complete_factors
from wirebench.scenario.contract import TRANSPORTS

Factor = str | int | float | None
#: The lowest and the highest.
Interval = tuple[float, float]


def span(intervals: Iterable[Interval | None]) -> Interval | None:
    """Return the interval that holds all of these; None if there are none, or one of them isn't known."""
    known = list(intervals)
    lows, highs = [each[0] for each in known if each], [each[1] for each in known if each]
    return (min(lows), max(highs)) if lows and len(lows) == len(known) else None


_FACTORS = tuple(field.name for field in dataclasses.fields(Cell))


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Latency(_Frozen):
    """One clock's distribution over the successful requests of a window, in milliseconds."""

    count: int
    min_ms: float
    mean_ms: float
    stdev_ms: float
    p50_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    p99_9_ms: float
    max_ms: float


class OperationFigures(_Frozen):
    """One of several operations of a load: its requests that ended in the window, and its own distributions."""

    requests: int
    errors: dict[str, int]
    service: Latency | None
    response: Latency | None


class StreamFigures(_Frozen):
    """What there was of streams: items that came in the window, and when.

    `first_item` is from the moment that a stream was due, or else asked for; `gap` from one item to the next of the
    same stream. `items_per_stream` and `bytes_received_per_item` are of the whole load, warm-up and `cancelled` streams
    included: those that were on their way when the load was over.
    """

    items: int
    items_total: int
    item_rate_per_s: float
    items_per_stream: float
    bytes_received_per_item: float | None
    cpu_us_per_item: float | None
    cancelled: int
    first_item: Latency | None
    gap: Latency | None


class Server(_Frozen):
    """What the service used; None where it can't be seen."""

    cpu_s: float | None
    cpu_ms_per_request: float | None
    memory_bytes: int | None
    throttled_periods: int | None
    #: Requests that the service itself counted during the whole load, by worker, and how even they are
    #: (Jain's fairness index: 1 is even, 1/n is all on one of n); within the replica where they are least even.
    requests_by_worker: dict[str, int] | None
    fairness: float | None
    requests_by_replica: dict[str, int] | None = None
    replica_fairness: float | None = None


class Generator(_Frozen):
    """What the load driver and a proxy used: their share of the CPU time that their cores or limit gave them."""

    cpu_share: float | None
    cores: tuple[int, ...] | None
    shares_cores_with_server: bool | None


class Instrument(_Frozen):
    """What the driver's figures are worth at such a load on this machine: from its calibration.

    Errors are measured minus truth, on the clock of what users wait; None where too few requests were beyond the
    percentile. The ceiling is the most requests/s that the driver makes on so many connections, 16 at least; None of
    streams.
    `coarse` ones were measured in a hurry, at the start of a run. Nothing is subtracted from the figures.
    """

    coarse: bool
    p50_error_ms: Interval | None
    p99_error_ms: Interval | None
    ceiling_per_s: float | None
    ceiling_share: float | None


class Proxy(_Frozen):
    """The proxy that the load went through, told to delay or not, and what it costs by itself.

    By `added_ms` it made a call longer before it delayed any: the median of pairs, straight and through. Its CPU time
    is part of the generator's share.
    """

    added_ms: float
    pairs: int
    cpu_ms_per_request: float | None


class Slice(_Frozen):
    """A part of a window whose load changes: what was due in it, in requests a second, and how long that took.

    Times are from the window's start. Latencies are of the successful requests, on the response clock.
    """

    start_s: float
    end_s: float
    rate_asked_per_s: float
    requests_ok: int
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None


class DisruptionRecord(_Frozen):
    """What was done to the replicas while they were loaded, and what came of it.

    It lasts until all replicas are ready again. `recovery_s` is from its start to the end of the last request that
    failed: 0 if none failed after it.
    """

    kind: str
    start_unix_ns: int
    end_unix_ns: int
    failed_requests: int
    recovery_s: float


class Gate(_Frozen):
    """A check that a measurement is fit to be used; a failed one withholds verdicts on `metrics`."""

    name: str
    passed: bool
    value: float
    limit: float
    unit: str
    #: The metrics that can't be trusted if the gate fails.
    metrics: tuple[str, ...]
    advice: str


class Record(_Frozen):
    """One cell in one block."""

    schema_version: Literal["wirebench.record/1"] = "wirebench.record/1"
    run: str
    scenario: str
    id: str
    cell: str
    block: int
    order: int
    factors: dict[str, Factor]
    window_start_unix_ns: int
    window_end_unix_ns: int
    window_s: float
    #: Requests that ended in the window, whatever their outcome; and all that were sent, warm-up included.
    requests: int
    requests_total: int
    rate_achieved_per_s: float
    rate_asked_per_s: float | None
    errors: dict[str, int]
    #: The most frequent errors of the whole load, warm-up included, the most frequent first.
    error_texts: tuple[ErrorText, ...]
    dropped_iterations: int
    mismatches: int
    service: Latency | None
    response: Latency | None
    #: By operation, where a load has several of them.
    operations: dict[str, OperationFigures] = {}
    #: Where the requests are streams; `requests`, `service` and `response` are then of whole streams.
    streams: StreamFigures | None = None
    histogram_file: str
    server: Server
    generator: Generator
    #: None where the driver wasn't calibrated.
    instrument: Instrument | None = None
    bytes_sent_per_request: float | None
    bytes_received_per_request: float | None
    disruption: DisruptionRecord | None = None
    proxy: Proxy | None = None
    #: What the load's connections agreed on; empty in plain text, and where the driver doesn't tell.
    tls: tuple[Handshakes, ...] = ()
    #: The window in equal parts, under a load that changes.
    over_time: tuple[Slice, ...] = ()
    gates: tuple[Gate, ...]
    versions: dict[str, str]
    machine: dict[str, str]
    commit: str | None

    @field_validator("factors")
    @classmethod
    def _are_those_of_a_cell(cls, factors: dict[str, Factor]) -> dict[str, Factor]:
        complete = complete_factors(factors)
        missing = [name for name in _FACTORS if name not in complete]
        if missing:
            raise ValueError(f"lacks {', '.join(missing)}")
        if factors["transport"] not in TRANSPORTS:
            raise ValueError(f"no transport {factors['transport']!r}")
        return complete
