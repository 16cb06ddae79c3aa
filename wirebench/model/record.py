"""What a measurement comes to: the record of one cell in one block."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from wirebench.model.cell import DEFAULTS, FACTORS
from wirebench.model.contract import TRANSPORTS
from wirebench.model.factor import Level
from wirebench.model.frozen import FrozenModel
from wirebench.model.histogram_file import Clock, ErrorText

if TYPE_CHECKING:
    from wirebench.model.histogram import Histogram

#: A quantile with fewer than ten samples beyond it is noise.
P99_9_REQUESTS_MIN = 10_000
#: `wirebench calibrate` loads each driver on so many connections at most.
CALIBRATED_CONNECTIONS_MAX = 64
#: Replicas share requests unevenly below this index of Jain's.
FAIRNESS_MIN = 0.9
_QUANTILES = {
    "min_ms": 0.0, "p50_ms": 0.5, "p90_ms": 0.9, "p95_ms": 0.95, "p99_ms": 0.99, "p99_9_ms": 0.999, "max_ms": 1.0,
}  # fmt: skip
#: The lowest and the highest.
Interval = tuple[float, float]


def join_intervals(intervals: Iterable[Interval | None]) -> Interval | None:
    """Return the interval that holds all of these; None if there are none, or one of them isn't known."""
    known = list(intervals)
    lows, highs = [each[0] for each in known if each], [each[1] for each in known if each]
    return (min(lows), max(highs)) if lows and len(lows) == len(known) else None


class Latency(FrozenModel):
    """One clock's distribution over the successful requests of a window, in milliseconds."""

    count: int
    min_ms: float
    mean_ms: float
    stdev_ms: float
    p50_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    #: None of fewer requests than `P99_9_REQUESTS_MIN`.
    p99_9_ms: float | None
    max_ms: float


def summarise_histogram(histogram: Histogram) -> Latency | None:
    """Return the figures of a histogram, in milliseconds; None if it has no values."""
    if not histogram.count:
        return None
    quantiles_ns = histogram.compute_quantiles_ns(*_QUANTILES.values())
    figures: dict[str, Any] = {name: each / 1e6 for name, each in zip(_QUANTILES, quantiles_ns, strict=True)}
    if histogram.count < P99_9_REQUESTS_MIN:
        figures["p99_9_ms"] = None
    return Latency(count=histogram.count, mean_ms=histogram.mean_ns / 1e6, stdev_ms=histogram.stdev_ns / 1e6, **figures)


class OperationFigures(FrozenModel):
    """One of several operations of a load: its requests that ended in the window, and its own distributions."""

    requests: int
    errors: dict[str, int]
    service: Latency | None
    response: Latency | None


class StreamFigures(FrozenModel):
    """What there was of streams: items that came in the window, and when.

    `first_item` is from the moment that a stream was due, or else asked for; `gap` from one item to the next of the
    same stream. `bytes_received_per_item` are of the whole load, warm-up included.
    """

    items: int
    item_rate_per_s: float
    bytes_received_per_item: float | None
    cpu_us_per_item: float | None
    first_item: Latency | None
    gap: Latency | None

    @property
    def first_item_ms(self) -> float | None:
        return self.first_item.p50_ms if self.first_item else None

    @property
    def gap_ms(self) -> float | None:
        return self.gap.p99_ms if self.gap else None


class Server(FrozenModel):
    """What the service used; None where it can't be seen."""

    cpu_us_per_request: float | None
    cpu_s: float | None
    memory_bytes: int | None
    throttled_periods: int | None
    #: Requests that the service itself counted during the whole load, and how even they are (Jain's fairness index: 1
    #: is even, 1/n is all on one of n) by worker, within the replica where they are least even, and by replica.
    fairness: float | None
    requests_by_replica: dict[str, int] | None = None
    replica_fairness: float | None = None


class Generator(FrozenModel):
    """What the load driver and a proxy used: their share of the CPU time that their cores or limit gave them."""

    cpu_share: float | None
    shares_cores_with_server: bool | None


class Instrument(FrozenModel):
    """What the driver's figures are worth at such a load on this machine: from its calibration.

    Errors are measured minus truth, on the clock of what users wait; None where too few requests were beyond the
    percentile. The ceiling is the most requests/s that the driver makes on so many connections, 16 at least; None of
    streams.
    `coarse` ones were measured briefly, at the start of a run. Nothing is subtracted from the figures.
    """

    coarse: bool
    p50_error_ms: Interval | None
    p99_error_ms: Interval | None
    ceiling_per_s: float | None
    ceiling_share: float | None

    @property
    def ceiling_share_percent(self) -> float | None:
        return None if self.ceiling_share is None else 100 * self.ceiling_share


class SearchWindow(FrozenModel):
    """One window of a search for the capacity: an open load, and whether it kept the objective.

    `failed` are the requests that failed or were never sent. Latencies are on the response clock.
    """

    rate_asked_per_s: int
    rate_achieved_per_s: float
    requests: int
    failed: int
    p50_ms: float | None
    p99_ms: float | None
    kept: bool


class CapacitySearch(FrozenModel):
    """A search for the highest rate that keeps an objective: its windows in their order, and what they come to.

    `rate_kept_per_s` is the highest rate that was kept, `rate_missed_per_s` the lowest that wasn't; None where there is
    none. `closed_rate_per_s` is what a closed load reached first, for a rate to begin with.
    """

    p99_ms: float
    error_share: float
    resolution: float
    closed_rate_per_s: float | None
    rate_kept_per_s: int | None
    rate_missed_per_s: int | None
    windows: tuple[SearchWindow, ...]

    @property
    def bracket(self) -> float:
        """How far the lowest rate that was missed is above the highest that was kept, as a share; 1 without both."""
        if not self.rate_kept_per_s or not self.rate_missed_per_s:
            return 1.0
        return self.rate_missed_per_s / self.rate_kept_per_s - 1

    @property
    def bracket_max(self) -> float:
        """How far it may be: rates are whole numbers. Less than 1 without both, so that such a search isn't settled."""
        if not self.rate_kept_per_s or not self.rate_missed_per_s:
            return self.resolution
        return max(self.resolution, 1 / self.rate_kept_per_s)

    @property
    def capacity_per_s(self) -> float | None:
        """The middle of both rates, on a logarithmic scale; the one that was kept where they aren't near enough."""
        if self.bracket <= self.bracket_max and self.rate_kept_per_s and self.rate_missed_per_s:
            return math.sqrt(self.rate_kept_per_s * self.rate_missed_per_s)
        return self.rate_kept_per_s


class Gate(FrozenModel):
    """A check that a measurement is fit to be used; a failed one withholds verdicts on `metrics`."""

    name: str
    passed: bool
    value: float
    limit: float
    unit: str
    #: The metrics that can't be trusted if the gate fails.
    metrics: tuple[str, ...]
    advice: str


class Record(FrozenModel):
    """One cell in one block; of a search for the capacity, the last window at the highest rate that was kept."""

    schema_version: Literal["wirebench.record/1"] = "wirebench.record/1"
    cell: str
    block: int = 0
    order: int = 0
    factors: dict[str, Level]
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
    #: Requests of the whole load that were sent again; each counts once elsewhere.
    retried: int = 0
    reconnects: int = 0
    service: Latency | None
    response: Latency | None
    #: By operation, where a load has several of them.
    operations: dict[str, OperationFigures] = Field(default={})
    #: Where the requests are streams; `requests`, `service` and `response` are then of whole streams.
    streams: StreamFigures | None = None
    #: By clock, over this window and those of the cell before it, as their histograms merge: in the record that was
    #: measured last, the latencies of the cell. Empty if one of the histograms can't be read.
    merged: dict[Clock, Latency]
    server: Server
    generator: Generator
    #: None where the driver wasn't calibrated.
    instrument: Instrument | None = None
    #: CPU time of a fixed piece of work on a core of the service, the mean of before and after the load: how fast the
    #: machine was. None where the service isn't on this machine.
    reference_us: float | None = None
    bytes_sent_per_request: float | None
    bytes_received_per_request: float | None
    #: Under the load model `capacity`.
    search: CapacitySearch | None = None
    gates: tuple[Gate, ...]

    @property
    def has_replies(self) -> bool:
        """Whether anything came in the window: replies, or items of streams."""
        return bool(self.requests or (self.streams and self.streams.items))

    @property
    def id(self) -> str:
        """A name that is unique in the run."""
        return f"b{self.block:03d}-{self.cell}"

    @property
    def histogram_file(self) -> str:
        return f"histograms/{self.id}.json"

    @property
    def clock(self) -> Literal["service", "response"] | None:
        """The clock of what users waited: the response clock where there is one.

        None where no request succeeded, and for streams: what counts of those is their items.
        """
        if self.streams:
            return None
        return "response" if self.response else "service" if self.service else None

    @property
    def latency(self) -> Latency | None:
        return getattr(self, self.clock) if self.clock else None

    @property
    def failed(self) -> int:
        return sum(self.errors.values())

    @property
    def throughput_per_s(self) -> float | None:
        """Whole streams have none that could be compared with that of requests."""
        return None if self.streams else self.rate_achieved_per_s

    @property
    def cpu_us_per_request(self) -> float | None:
        return None if self.streams else self.server.cpu_us_per_request

    @field_validator("factors")
    @classmethod
    def _check_factors(cls, factors: dict[str, Level]) -> dict[str, Level]:
        # A factor that is younger than the record has its default.
        factors = {**DEFAULTS, **factors}
        if missing := [name for name in FACTORS if name not in factors]:
            raise ValueError(f"lacks {', '.join(missing)}")
        if factors["transport"] not in TRANSPORTS:
            raise ValueError(f"no transport {factors['transport']!r}")
        return factors
