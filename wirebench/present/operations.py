"""Loads of several operations, taken apart: each operation's figures, and its ratio to that of the first cell."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirebench.analysis.ratio import Ratio, paired_ratio
from wirebench.analysis.summary import CellSummary
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import Clock
from wirebench.model.record import OperationFigures, summarise_histogram
from wirebench.model.run_info import Run
from wirebench.present.labels import describe_situation, name_in_run
from wirebench.present.latencies import compute_quantile_ms
from wirebench.store.histograms import merge_blocks, read_histograms


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """One operation of a cell whose load has several; latencies are of all its blocks together.

    `ratio` is that of its mean latency to the one of `baseline`, the first cell of the same load, block by block.
    """

    operation: str
    situation: str
    cell: str
    name: str
    requests: int
    failed: int
    throughput_per_s: float
    min_ms: float | None
    mean_ms: float | None
    stdev_ms: float | None
    p50_ms: float | None
    #: None of too few requests.
    p99_ms: float | None
    max_ms: float | None
    baseline: str | None
    ratio: Ratio | None
    failed_gates: tuple[str, ...]


def list_operations(run: Run, cells: Sequence[CellSummary]) -> tuple[OperationView, ...]:
    """Return the operations of the cells that have several, with all cells of a load side by side."""
    by_load: dict[str, list[CellSummary]] = {}
    for cell in cells:
        if any(record.operations for record in cell.records):
            by_load.setdefault(describe_situation(cell.factors), []).append(cell)
    return tuple(view for situation, group in by_load.items() for view in _list_of_load(run, situation, group))


def _list_of_load(run: Run, situation: str, cells: Sequence[CellSummary]) -> Iterator[OperationView]:
    merged = {cell.cell: _merge_histograms(run, cell) for cell in cells}
    for operation in dict.fromkeys(name for cell in cells for record in cell.records for name in record.operations):
        for cell in cells:
            yield _describe_operation(operation, situation, cells[0], cell, merged[cell.cell].get(operation))


def _merge_histograms(run: Run, cell: CellSummary) -> dict[str | None, Histogram]:
    clock: Clock = "response" if any(record.response for record in cell.records) else "service"
    found = read_histograms(run.folder, cell.records, clock).operations
    return {operation: merge_blocks(blocks) for operation, blocks in found.items()}


def _describe_operation(
    operation: str, situation: str, first: CellSummary, cell: CellSummary, merged: Histogram | None
) -> OperationView:
    blocks = _read_blocks(cell, operation).values()
    requests = sum(each.requests for each in blocks)
    failed = sum(sum(each.errors.values()) for each in blocks)
    window_s = statistics.fmean(record.window_s for record in cell.records)
    latency = summarise_histogram(merged) if merged else None
    return OperationView(
        operation=operation,
        situation=situation,
        cell=cell.cell,
        name=name_in_run(cell),
        requests=requests,
        failed=failed,
        throughput_per_s=(requests - failed) / window_s / len(cell.records),
        min_ms=latency.min_ms if latency else None,
        mean_ms=latency.mean_ms if latency else None,
        stdev_ms=latency.stdev_ms if latency else None,
        p50_ms=latency.p50_ms if latency else None,
        p99_ms=compute_quantile_ms(merged, 0.99) if merged else None,
        max_ms=latency.max_ms if latency else None,
        baseline=None if cell is first else first.cell,
        ratio=None if cell is first else _compute_ratio(operation, cell, first),
        failed_gates=tuple(gate.name for gate in cell.failed_gates()),
    )


def _read_blocks(cell: CellSummary, operation: str) -> dict[int, OperationFigures]:
    return {record.block: record.operations[operation] for record in cell.records if operation in record.operations}


def _compute_ratio(operation: str, subject: CellSummary, baseline: CellSummary) -> Ratio | None:
    """Return the ratio of an operation's mean latencies in the blocks that both cells have; None without any."""
    means = [
        {
            block: latency.mean_ms
            for block, of in _read_blocks(cell, operation).items()
            if (latency := of.response or of.service) and latency.mean_ms > 0
        }
        for cell in (subject, baseline)
    ]
    blocks = sorted(means[0].keys() & means[1].keys())
    return paired_ratio(*([of[block] for block in blocks] for of in means)) if blocks else None
