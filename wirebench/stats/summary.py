"""The figures of a cell over all its blocks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from wirebench.drivers.histogram_file import most_frequent
from wirebench.measure.record import Instrument, Interval, span
from wirebench.scenario.contract import Balancing, Disruption, Driver, Implementation, Placement, Tls
from wirebench.stats.names import Factors, cell_name, full_name
from wirebench.store import ErrorText, Gate, Record, StreamFigures


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a record, which cells have a typical one of."""

    name: str
    label: str
    unit: str
    higher_is_better: bool
    of: Callable[[Record], float | None]
    #: The driver's error of it, where that is known of any.
    error_ms: Callable[[Instrument], Interval | None] | None = None

    @property
    def heading(self) -> str:
        """Its label with its unit, unless the label has it."""
        return self.label if self.unit == "1/s" else f"{self.label}, {self.unit}"


def _unless_streams(figure: Callable[[Record], float | None]) -> Callable[[Record], float | None]:
    """Take a figure of requests: whole streams have none that could be compared with those."""
    return lambda record: None if record.streams else figure(record)


def _of_streams(figure: Callable[[StreamFigures], float | None]) -> Callable[[Record], float | None]:
    return lambda record: figure(record.streams) if record.streams else None


def clock_of(record: Record) -> Literal["service", "response"] | None:
    """Return the clock that says what users waited: the response clock where there is one.

    None where no request succeeded, and for streams: what counts of those is their items.
    """
    if record.streams:
        return None
    if record.response:
        return "response"
    return "service" if record.service else None


def _latency(quantile: str) -> Callable[[Record], float | None]:
    def of(record: Record) -> float | None:
        clock = clock_of(record)
        return getattr(getattr(record, clock), quantile) if clock else None

    return of


_ERRORS_MS: dict[str, Callable[[Instrument], Interval | None]] = {
    "p50": lambda of: of.p50_error_ms,
    "p99": lambda of: of.p99_error_ms,
}

#: How long users waited.
LATENCIES: dict[str, Metric] = {
    name: Metric(
        name,
        name.replace("_", "."),
        "ms",
        higher_is_better=False,
        of=_latency(f"{name}_ms"),
        error_ms=_ERRORS_MS.get(name),
    )
    for name in ("p50", "p90", "p95", "p99", "p99_9")
}

#: What cells are compared by.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "throughput",
            "requests/s",
            "1/s",
            higher_is_better=True,
            of=_unless_streams(lambda record: record.rate_achieved_per_s),
        ),
        LATENCIES["p50"],
        LATENCIES["p99"],
        Metric(
            "cpu",
            "server CPU per request",
            "ms",
            higher_is_better=False,
            of=_unless_streams(lambda record: record.server.cpu_ms_per_request),
        ),
        Metric("item_rate", "items/s", "1/s", higher_is_better=True, of=_of_streams(lambda of: of.item_rate_per_s)),
        Metric(
            "first_item",
            "time to first item",
            "ms",
            higher_is_better=False,
            of=_of_streams(lambda of: of.first_item.p50_ms if of.first_item else None),
        ),
        Metric(
            "gap",
            "p99 gap between items",
            "ms",
            higher_is_better=False,
            of=_of_streams(lambda of: of.gap.p99_ms if of.gap else None),
        ),
        Metric(
            "item_cpu",
            "server CPU per item",
            "µs",
            higher_is_better=False,
            of=_of_streams(lambda of: of.cpu_us_per_item),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One cell: its records in the order of their blocks, and what they come to."""

    cell: str
    factors: dict[str, str | int | float | None]
    records: tuple[Record, ...]
    #: The factors that all cells of the run have the same level of: names in the run don't tell them.
    shared: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Its name among the run's cells of the same operation and load."""
        return cell_name(self.factors, self.shared)

    @property
    def full_name(self) -> str:
        """Its name among all cells of the run."""
        return full_name(self.factors, self.shared)

    @property
    def has_streams(self) -> bool:
        """Whether its requests are streams: other metrics are for those."""
        return any(record.streams for record in self.records)

    @property
    def rate(self) -> Metric:
        """How much it served in a second: requests, or items of streams."""
        return METRICS["item_rate" if self.has_streams else "throughput"]

    def by_block(self, metric: Metric) -> dict[int, float]:
        """Return the metric's figures by block, where they were measured and are positive."""
        figures = ((record.block, metric.of(record)) for record in self.records)
        return {block: figure for block, figure in figures if figure is not None and figure > 0}

    def typical(self, metric: Metric) -> float | None:
        """Return the geometric mean of the blocks' figures, which ratios of cells agree with; None without any."""
        figures = list(self.by_block(metric).values())
        return statistics.geometric_mean(figures) if figures else None

    def spread(self, metric: Metric) -> float | None:
        """Return how far the blocks lie apart: the greatest figure over the least; None without two."""
        figures = list(self.by_block(metric).values())
        return max(figures) / min(figures) if len(figures) > 1 else None

    def instrument_error_ms(self, metric: Metric) -> Interval | None:
        """Return the driver's error of a latency in all blocks; None if it isn't known of one, or of the metric."""
        error_ms = metric.error_ms
        if self.has_streams or error_ms is None:
            return None
        return span(error_ms(record.instrument) if record.instrument else None for record in self.records)

    def replica_shares(self) -> tuple[float, ...]:
        """Return which share of the requests each replica had, the largest first, on average over the blocks.

        Empty where there was one, or where it isn't known.
        """
        shares = []
        for record in self.records:
            counts = sorted((record.server.requests_by_replica or {}).values(), reverse=True)
            if len(counts) > 1 and any(counts):
                shares.append([count / sum(counts) for count in counts])
        return tuple(statistics.fmean(place) for place in zip(*shares, strict=True)) if shares else ()

    @property
    def errors(self) -> tuple[ErrorText, ...]:
        """The most frequent errors of all blocks together, the most frequent first."""
        return most_frequent(error for record in self.records for error in record.error_texts)

    def failed_gates(self, metric: Metric | None = None) -> tuple[Gate, ...]:
        """Return the worst failure of each gate that failed in any block (and that this metric depends on)."""
        worst: dict[str, Gate] = {}
        for record in self.records:
            for gate in record.gates:
                if gate.passed or (metric is not None and metric.name not in gate.metrics):
                    continue
                if gate.name not in worst or excess(gate) > excess(worst[gate.name]):
                    worst[gate.name] = gate
        return tuple(worst.values())


def summarise(records: Iterable[Record]) -> tuple[CellSummary, ...]:
    """Group a run's records by cell; cells in the order of their factors."""
    by_cell: dict[str, list[Record]] = {}
    for record in records:
        by_cell.setdefault(record.cell, []).append(record)
    shared = _shared([members[0].factors for members in by_cell.values()])
    summaries = (
        CellSummary(cell, members[0].factors, tuple(sorted(members, key=lambda record: record.block)), shared)
        for cell, members in by_cell.items()
    )
    return tuple(sorted(summaries, key=lambda summary: by_factors(summary.factors)))


def _shared(cells: Sequence[Factors]) -> frozenset[str]:
    return frozenset(name for name in (cells[0] if cells else ()) if len({factors[name] for factors in cells}) == 1)


_TRANSPORT_ORDER = {"rest": 0, "grpc": 1, "socket": 2}
_ORDER = (
    "operation", "payload", "stream_rate_limit_per_s", "stream_items",
    "rate_per_s", "concurrency", "connections", "replicas", "cpu_limit_millicores", "memory_limit_mib",
    "workers", "threads", "store", "store_connections", "connection", "bandwidth_kib_s", "jitter_ms", "delay_ms",
)  # fmt: skip
_PLACES = {
    level: place
    for levels in map(get_args, (Tls, Implementation, Placement, Balancing, Disruption, Driver))
    for place, level in enumerate(levels)
}
_LAST_ORDER = ("tls", "disruption", "placement", "balancing", "implementation", "runtime", "codec", "driver")


def by_factors(factors: Factors) -> tuple[object, ...]:
    """Return a cell's place among others: what one sorts by."""
    levels = ((-1 if factors[name] is None else factors[name]) for name in _ORDER)
    first = tuple((isinstance(level, str), level) for level in levels)
    transport = _TRANSPORT_ORDER[str(factors["transport"])]
    return (*first, transport, *(_place(factors[name]) for name in _LAST_ORDER))


def _place(level: object) -> tuple[int, str]:
    """Return where a level stands among those of its factor: as the contract has them, or else by its name."""
    return _PLACES.get(level, 0), str(level)


def excess(gate: Gate) -> float:
    """How far a gate's value lies from its limit, in either direction."""
    return abs(math.log((gate.value + 1e-9) / (gate.limit + 1e-9)))
