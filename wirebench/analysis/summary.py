"""The figures of a cell over all its blocks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wirebench.analysis.ratio import Ratio, paired_ratio
from wirebench.model.cell import sort_key
from wirebench.model.factor import Factors
from wirebench.model.histogram_file import ErrorText, choose_most_frequent
from wirebench.model.metric import METRICS, Metric
from wirebench.model.record import Gate, Interval, Record, join_intervals


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One cell: its records in the order of their blocks, and what they come to."""

    cell: str
    factors: dict[str, str | int | float | None]
    records: tuple[Record, ...]
    #: The factors that all cells of the run have the same level of: names in the run leave them out.
    shared: frozenset[str] = frozenset()
    #: The factor that the run compares: names of all cells include it, at its default too.
    compared: str = ""
    #: The metric that it is judged by, where that doesn't follow from its load.
    judged_by: str = ""

    @property
    def interference(self) -> float | None:
        """The share of the pinned cores that other programs took, on average over the blocks; None if unknown."""
        shares = [gate.value for record in self.records for gate in record.gates if gate.name == "interference"]
        return statistics.fmean(shares) if shares else None

    @property
    def has_streams(self) -> bool:
        """Whether its requests are streams: other metrics are for those."""
        return any(record.streams for record in self.records)

    @property
    def rate(self) -> Metric:
        """How much it served in a second, or can serve: requests, or items of streams."""
        if self.factors.get("shape") == "capacity":
            return METRICS["capacity"]
        return METRICS["item_rate" if self.has_streams else "throughput"]

    @property
    def judged_metric(self) -> Metric:
        """What it is judged by: where a rate is given, what differs is how long users wait."""
        if self.judged_by:
            return METRICS[self.judged_by]
        if self.factors["shape"] == "capacity":
            return METRICS["capacity"]
        is_given = self.factors["rate_per_s"] or self.factors["shape"]
        if self.has_streams:
            return METRICS["first_item" if is_given or self.factors["stream_rate_limit_per_s"] else "item_rate"]
        return METRICS["p99" if is_given else "throughput"]

    @property
    def unkept_searches(self) -> int:
        """In how many blocks a search for the capacity found no rate that kept the objective."""
        return sum(record.search is not None and record.search.rate_kept_per_s is None for record in self.records)

    @property
    def merged(self) -> Record:
        """The record that was measured last, with the latencies of all blocks in place of its own."""
        last = max(self.records, key=lambda record: (record.window_end_unix_ns, record.block))
        of = last.merged
        items = {"first_item": of.get("first_item"), "gap": of.get("gap")}
        streams = last.streams.model_copy(update=items) if last.streams else None
        latencies = {"service": of.get("service"), "response": of.get("response"), "streams": streams}
        return last.model_copy(update=latencies)

    def by_block(self, metric: Metric) -> dict[int, float]:
        """Return the metric's figures by block, where they were measured and are positive.

        There are none of a capacity if a block's search found none.
        """
        if metric.name == "capacity" and self.unkept_searches:
            return {}
        figures = ((record.block, metric.of(record)) for record in self.records)
        return {block: figure for block, figure in figures if figure is not None and figure > 0}

    def by_block_at_one_speed(self, metric: Metric) -> list[float]:
        """Return the blocks' figures, were all measured while a fixed piece of work took 1 µs.

        Empty if it isn't known how long that took beside each.
        """
        speeds = {record.block: record.reference_us for record in self.records}
        if not all(speeds.values()):
            return []
        return [
            figure * took_us if metric.more_is_better else figure / took_us
            for block, figure in self.by_block(metric).items()
            if (took_us := speeds[block])
        ]

    def typical(self, metric: Metric) -> float | None:
        """Return the geometric mean of the blocks' figures, which ratios of cells are of; None without any."""
        figures = list(self.by_block(metric).values())
        return statistics.geometric_mean(figures) if figures else None

    def figure(self, metric: Metric) -> float | None:
        """Return the figure of the cell, from its blocks as the metric says; None without any."""
        match metric.over_blocks:
            case "geometric mean":
                return self.typical(metric)
            case "merged":
                return metric.of(self.merged)
            case "sum":
                figures = [figure for record in self.records if (figure := metric.of(record)) is not None]
                return sum(figures) if figures else None

    def estimate(self, metric: Metric) -> Ratio | None:
        """Return the figure with how far the blocks lie apart; None without any.

        Of a geometric mean that is its interval; of what is merged, the least and the greatest of the blocks' figures,
        between which it lies.
        """
        blocks, figure = list(self.by_block(metric).values()), self.figure(metric)
        if not blocks or figure is None:
            return None
        if metric.over_blocks == "geometric mean":
            return paired_ratio(blocks, [1.0] * len(blocks))
        low, high = (min(blocks), max(blocks)) if len(blocks) > 1 else (None, None)
        return Ratio(figure, low, high, len(blocks), None, None)

    def instrument_error_ms(self, metric: Metric) -> Interval | None:
        """Return the driver's error of a latency in all blocks; None if it isn't known of one, or of the metric.

        That of a mean is taken to be that of the p50.
        """
        if self.has_streams:
            return None
        field = f"{metric.gates_of or metric.name}_error_ms"
        return join_intervals(getattr(record.instrument, field, None) for record in self.records)

    def reference_us(self) -> float | None:
        """Return how long a fixed piece of work took beside its windows; None if it isn't known of all."""
        known = [record.reference_us for record in self.records if record.reference_us]
        return statistics.geometric_mean(known) if known and len(known) == len(self.records) else None

    @property
    def errors(self) -> tuple[ErrorText, ...]:
        """The most frequent errors of all blocks together, the most frequent first."""
        return choose_most_frequent(error for record in self.records for error in record.error_texts)

    def failed_gates(self, metric: Metric | None = None) -> tuple[Gate, ...]:
        """Return the worst failure of each gate that failed in any block (and that this metric depends on).

        Drift has to be in most blocks: in others it is a disturbance, of which their spread tells.
        """
        failed: dict[str, list[Gate]] = {}
        for gate in (gate for record in self.records for gate in record.gates if not gate.passed):
            if metric is None or (metric.gates_of or metric.name) in gate.metrics:
                failed.setdefault(gate.name, []).append(gate)
        if 2 * len(failed.get("drift", ())) <= len(self.records):
            failed.pop("drift", None)
        return tuple(max(each, key=compute_excess) for each in failed.values())


def summarise(records: Iterable[Record], compared: str = "") -> tuple[CellSummary, ...]:
    """Group a run's records by cell; cells in the order of their factors. Names tell the factor that is compared."""
    by_cell: dict[str, list[Record]] = {}
    for record in records:
        by_cell.setdefault(record.cell, []).append(record)
    shared = find_shared_factors([members[0].factors for members in by_cell.values()])
    summaries = (
        CellSummary(cell, members[0].factors, tuple(sorted(members, key=lambda record: record.block)), shared, compared)
        for cell, members in by_cell.items()
    )
    return tuple(sorted(summaries, key=lambda summary: sort_key(summary.factors)))


def find_shared_factors(cells: Sequence[Factors]) -> frozenset[str]:
    """Return the factors that all of these cells have the same level of."""
    return frozenset(name for name in (cells[0] if cells else ()) if len({factors[name] for factors in cells}) == 1)


def compute_excess(gate: Gate) -> float:
    """How far a gate's value lies from its limit, in either direction."""
    return abs(math.log((gate.value + 1e-9) / (gate.limit + 1e-9)))
