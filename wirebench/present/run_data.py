"""A run as programs get it: from the API, and from `wirebench results --json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.summary import CellSummary, compute_excess, summarise
from wirebench.model.labels import name_machine
from wirebench.model.metric import METRICS, SPREAD, name_spread
from wirebench.model.record import CapacitySearch, Gate
from wirebench.model.run_info import RunInfo
from wirebench.present.caveats import list_caveats
from wirebench.present.data import CellComparison, make_comparison_data, make_view
from wirebench.present.remarks import describe_handshakes, list_notes, write_answer
from wirebench.present.sentences import describe_certainty
from wirebench.results.index import Result
from wirebench.results.index.model import group_by_metric
from wirebench.results.runs import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGate:
    """A gate of a cell: of the blocks where it failed the worst, or else the block that came closest to its limit."""

    failed_blocks: tuple[int, ...]
    worst: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell(Result):
    """A result with its gates and its searches for the capacity, block by block."""

    gates: tuple[CellGate, ...]
    searches: tuple[CapacitySearch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """A run with its provenance, its cells with their gates, and what they support, in numbers and in sentences."""

    run: RunInfo
    summary: tuple[str, ...]
    caveat: str
    #: What to doubt: drift, outliers and order effects among it.
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    cells: tuple[RunCell, ...]
    comparisons: tuple[CellComparison, ...]


def make_run_data(run: Run) -> RunData:
    comparisons, cells = find_comparisons(run), summarise(run.records)
    return RunData(
        run=run.info,
        summary=write_answer(run, comparisons),
        caveat=describe_certainty(comparisons),
        doubts=tuple(list_caveats(run)),
        notes=(*describe_handshakes(cells), *list_notes(cells)),
        cells=describe_cells(run),
        comparisons=tuple(map(make_comparison_data, comparisons)),
    )


def describe_cells(run: Run) -> tuple[RunCell, ...]:
    """Return the cells of a run, in the order of their factors: what the index has of them, and their gates."""
    return tuple(_describe_cell(run.info, cell) for cell in summarise(run.records))


def _describe_cell(info: RunInfo, cell: CellSummary) -> RunCell:
    failed = {gate.name: gate.metrics for gate in cell.failed_gates()}
    figures: dict[str, Any] = {metric.field: cell.figure(metric) for metric in METRICS.values()}
    for metric in SPREAD:
        blocks = cell.by_block(metric).values()
        figures |= zip(name_spread(metric), (min(blocks, default=None), max(blocks, default=None)), strict=True)
    figures |= {name: cell.factors[name] for name in ("transport", "driver", "operation", "concurrency")}
    return make_view(
        RunCell,
        cell,
        info,
        run_id=info.id,
        started_at=datetime.fromisoformat(info.started_at),
        machine=name_machine(info.machine),
        protocol=cell.factors["transport"],
        client=cell.factors["driver"],
        blocks=len(cell.records),
        **figures,
        successful=figures["requests"] - figures["failed"],
        errors=cell.error_counts,
        failed_gates=tuple(failed),
        failed_gates_by_metric=group_by_metric(failed),
        gates=tuple(_list_gates(cell)),
        searches=tuple(record.search for record in cell.records if record.search),
    )


def _list_gates(cell: CellSummary) -> Iterator[CellGate]:
    by_name: dict[str, dict[int, Gate]] = {}
    for record in cell.records:
        for gate in record.gates:
            by_name.setdefault(gate.name, {})[record.block] = gate
    for gates in by_name.values():
        failed = {block: gate for block, gate in gates.items() if not gate.passed}
        worst = max(failed.values(), key=compute_excess) if failed else min(gates.values(), key=compute_excess)
        yield CellGate(failed_blocks=tuple(failed), worst=worst)
