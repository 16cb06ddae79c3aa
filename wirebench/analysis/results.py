"""The results of a run: a row for itself and one for each of its cells, as pages, API, files and tables show them."""

from __future__ import annotations

import dataclasses
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from wirebench.analysis.summary import CellSummary, compute_excess
from wirebench.model.metric import METRICS, SPREAD, name_spread
from wirebench.model.record import CapacitySearch, Gate, Interval, Record
from wirebench.model.run_info import Run, RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run: `records` of its `cells` × `blocks` are there."""

    run_id: str
    scenario: str
    question: str
    started_at: datetime
    duration_s: float | None
    status: str
    reason: str
    target: str
    machine: str
    versions: dict[str, str]
    commit: str | None
    seed: int
    blocks: int
    cells: int
    records: int
    #: Gates that failed in any record.
    failed_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One cell of one run: latencies of its blocks merged, sums of counts, and of other figures the geometric mean.

    The metrics have their `field` here (wirebench.model.metric).

    Latencies are on the response clock where there is one. Of streams there are no figures of requests but those of
    items; requests have none of items. Memory and the generator's CPU are the most of any block, fairness the least;
    what else was used is the mean of the blocks. A figure that no block has is None.
    """

    run_id: str
    scenario: str
    started_at: datetime
    target: str
    machine: str
    cell: str
    transport: str
    driver: str
    operation: str
    concurrency: int
    blocks: int
    throughput_per_s: float | None
    #: Of a search for it; None of other loads.
    capacity_per_s: float | None
    min_ms: float | None
    mean_ms: float | None
    stdev_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p99_9_ms: float | None
    max_ms: float | None
    #: Beside the latencies of all blocks together: those of the blocks that differ most.
    p50_lowest_block_ms: float | None
    p50_highest_block_ms: float | None
    p99_lowest_block_ms: float | None
    p99_highest_block_ms: float | None
    cpu_us_per_request: float | None
    item_rate_per_s: float | None
    first_item_ms: float | None
    gap_ms: float | None
    cpu_us_per_item: float | None
    #: What the driver's figures are worth; None where it wasn't calibrated.
    ceiling_share_percent: float | None
    requests: int
    successful: int
    failed: int
    #: The greatest of the blocks' rates over the least.
    blocks_apart: float | None
    memory_bytes: float | None
    throttled_periods_per_s: float | None
    bytes_sent_per_request: float | None
    bytes_received_per_request: float | None
    bytes_received_per_item: float | None
    generator_cpu_percent: float | None
    #: Which share of the requests each replica had, the largest first.
    replica_shares: tuple[float, ...]
    #: Jain's index of the workers' shares of the requests, where there are several.
    fairness: float | None
    #: The driver's error: measured minus truth, from, to.
    p50_error_ms: Interval | None
    p99_error_ms: Interval | None
    #: Failed requests by their class.
    errors: dict[str, int]
    retried: int
    reconnects: int
    #: Items of streams; None where there are no streams.
    items: int | None
    #: Gates that failed in any block.
    failed_gates: tuple[str, ...]
    factors: dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGate:
    """A gate of a cell: of the blocks where it failed the worst, or else the block that came closest to its limit."""

    failed_blocks: tuple[int, ...]
    worst: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell(Result):
    """A result with its gates, and its searches for the capacity."""

    gates: tuple[CellGate, ...]
    searches: tuple[CapacitySearch, ...]


#: What services, network and driver used, by field: its figure of a record, and how those of the blocks are combined.
_USED: Mapping[str, tuple[Callable[[Record], float | None], Callable[[list[float]], float]]] = {
    "memory_bytes": (lambda of: of.server.memory_bytes, max),
    "throttled_periods_per_s": (
        lambda of: None if of.server.throttled_periods is None else of.server.throttled_periods / of.window_s,
        statistics.fmean,
    ),
    "bytes_sent_per_request": (lambda of: of.bytes_sent_per_request, statistics.fmean),
    "bytes_received_per_request": (lambda of: of.bytes_received_per_request, statistics.fmean),
    "bytes_received_per_item": (
        lambda of: of.streams.bytes_received_per_item if of.streams else None,
        statistics.fmean,
    ),
    "generator_cpu_percent": (
        lambda of: None if of.generator.cpu_share is None else 100 * of.generator.cpu_share,
        max,
    ),
    "fairness": (lambda of: None if of.factors["workers"] == 1 else of.server.fairness, min),
}


def describe_run(run: Run) -> RunRow:
    """Return the row of a run."""
    shared = (field.name for field in dataclasses.fields(RunRow) if field.name in RunInfo.model_fields)
    row: dict[str, Any] = {name: getattr(run.info, name) for name in shared}
    row["machine"] = run.info.machine_name
    failed = {gate.name for record in run.records for gate in record.gates if not gate.passed}
    return RunRow(run_id=run.info.id, records=len(run.records), failed_gates=tuple(sorted(failed)), **row)


def describe_cells(info: RunInfo, cells: Sequence[CellSummary]) -> tuple[RunCell, ...]:
    """Return the figures of the cells of a run, with their gates."""
    return tuple(_describe_cell(info, cell) for cell in cells)


def _describe_cell(info: RunInfo, cell: CellSummary) -> RunCell:
    figures: dict[str, Any] = {metric.field: cell.figure(metric) for metric in METRICS.values()}
    for spread in SPREAD:
        blocks = cell.by_block(spread).values()
        figures |= zip(name_spread(spread), (min(blocks, default=None), max(blocks, default=None)), strict=True)
    for name, (read, combine) in _USED.items():
        known = [value for record in cell.records if (value := read(record)) is not None]
        figures[name] = combine(known) if known else None
    figures |= {name: cell.factors[name] for name in ("transport", "driver", "operation", "concurrency")}
    rates = cell.by_block(cell.rate).values()
    return RunCell(
        run_id=info.id,
        scenario=info.scenario,
        started_at=info.started_at,
        target=info.target,
        machine=info.machine_name,
        cell=cell.cell,
        factors=cell.factors,
        blocks=len(cell.records),
        **figures,
        successful=figures["requests"] - figures["failed"],
        blocks_apart=max(rates) / min(rates) if len(rates) > 1 else None,
        replica_shares=_compute_replica_shares(cell),
        p50_error_ms=cell.instrument_error_ms(METRICS["p50"]),
        p99_error_ms=cell.instrument_error_ms(METRICS["p99"]),
        errors=dict(sum((Counter(record.errors) for record in cell.records), start=Counter[str]()).most_common()),
        failed_gates=tuple(gate.name for gate in cell.failed_gates()),
        gates=tuple(list_gates(cell)),
        searches=tuple(record.search for record in cell.records if record.search),
    )


def _compute_replica_shares(cell: CellSummary) -> tuple[float, ...]:
    """Return which share of the requests each replica had, the largest first, on average over the blocks.

    Empty where there was one, or where it isn't known.
    """
    shares = []
    for record in cell.records:
        counts = sorted((record.server.requests_by_replica or {}).values(), reverse=True)
        if len(counts) > 1 and any(counts):
            shares.append([count / sum(counts) for count in counts])
    return tuple(statistics.fmean(place) for place in zip(*shares, strict=True)) if shares else ()


def list_gates(cell: CellSummary) -> Iterator[CellGate]:
    by_name: dict[str, dict[int, Gate]] = {}
    for record in cell.records:
        for gate in record.gates:
            by_name.setdefault(gate.name, {})[record.block] = gate
    for gates in by_name.values():
        failed = {block: gate for block, gate in gates.items() if not gate.passed}
        worst = max(failed.values(), key=compute_excess) if failed else min(gates.values(), key=compute_excess)
        yield CellGate(failed_blocks=tuple(failed), worst=worst)
