"""What is known of one run, or of two that are compared, read from their folders."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.compare_runs import compare_runs
from wirebench.analysis.scaling import find_scalings
from wirebench.analysis.sizing import P99_MAX_MS, RATE_MAX_PER_S, UTILISATION, SizingObjective, compute_sizes
from wirebench.analysis.summary import CellSummary, compute_excess, summarise
from wirebench.model.histogram_file import Clock
from wirebench.model.labels import name_machine
from wirebench.model.metric import METRICS, SPREAD, name_spread
from wirebench.model.record import Autoscaling, CapacitySearch, Gate, Recovery
from wirebench.model.run_info import RunInfo
from wirebench.present import sentences
from wirebench.present.caveats import describe_disturbances
from wirebench.present.data import (
    CellComparison,
    RunComparisonData,
    ScalingData,
    describe_run_comparison,
    make_comparison_data,
    make_scaling_data,
)
from wirebench.present.latencies import compute_quantile_ms
from wirebench.present.remarks import write_answer
from wirebench.present.sizing import SizingData, make_sizing_data
from wirebench.results.histograms import CellHistograms, merge_blocks, read_histograms
from wirebench.results.index import Result
from wirebench.results.index.model import group_by_metric
from wirebench.results.progress import RunProgress, read_progress
from wirebench.results.query import Levels, One, Query
from wirebench.results.runs import Run, load_info, load_run
from wirebench.web.api.endpoint import Asked
from wirebench.web.catalogue import Catalogue
from wirebench.web.histories import read_changed_ns
from wirebench.web.problems import HttpError

#: So many replies are kept for the next who asks: merging and encoding a run's histograms takes a second.
_HISTOGRAMS_MAX = 8
_PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 97.5, 99, 99.5, 99.9, 99.95, 99.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGate:
    """A gate of a cell: of the blocks where it failed the worst, or else the block that came closest to its limit."""

    failed_blocks: tuple[int, ...]
    worst: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell(Result):
    """A result with its gates, and what only some loads and services have, block by block.

    That are searches for the capacity, when an objective was kept again, and the replicas that an autoscaler added.
    """

    gates: tuple[CellGate, ...]
    searches: tuple[CapacitySearch, ...]
    recoveries: tuple[Recovery, ...]
    autoscalings: tuple[Autoscaling, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    """A run with its provenance, its cells with their gates, and what they support, in numbers and in sentences."""

    run: RunInfo
    summary: tuple[str, ...]
    caveat: str
    #: Drift, outliers and order effects.
    disturbances: tuple[str, ...]
    cells: tuple[RunCell, ...]
    comparisons: tuple[CellComparison, ...]
    scaling: tuple[ScalingData, ...]


def run(asked: Asked[Query]) -> RunAnswer:
    """Show a run."""
    found = asked.catalogue.run(asked.run_id)
    comparisons = find_comparisons(found)
    return RunAnswer(
        run=found.info,
        summary=write_answer(found, comparisons),
        caveat=sentences.describe_certainty(comparisons),
        disturbances=tuple(describe_disturbances(found)),
        cells=describe_cells(found),
        comparisons=tuple(map(make_comparison_data, comparisons)),
        scaling=tuple(map(make_scaling_data, find_scalings(summarise(found.records)))),
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
    transport, driver = str(cell.factors["transport"]), str(cell.factors["driver"])
    return RunCell(
        run_id=info.id,
        scenario=info.scenario,
        started_at=datetime.fromisoformat(info.started_at),
        target=info.target,
        machine=name_machine(info.machine),
        cell=cell.cell,
        transport=transport,
        driver=driver,
        protocol=transport,
        client=driver,
        operation=str(cell.factors["operation"]),
        concurrency=int(cell.factors["concurrency"] or 0),
        blocks=len(cell.records),
        **figures,
        successful=figures["total_samples"] - figures["failed"],
        errors=cell.error_counts,
        failed_gates=tuple(failed),
        failed_gates_by_metric=group_by_metric(failed),
        factors=cell.factors,
        gates=tuple(_list_gates(cell)),
        searches=tuple(record.search for record in cell.records if record.search),
        recoveries=tuple(record.recovery for record in cell.records if record.recovery),
        autoscalings=tuple(record.autoscaling for record in cell.records if record.autoscaling),
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


@dataclass(frozen=True, slots=True)
class Percentile:
    """The latency that so many percent of the requests don't exceed."""

    percentile: float
    latency_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellHistogram:
    """The latencies of a cell's successful requests on one clock, its blocks merged exactly.

    `operation` is null where several are merged. Percentiles with fewer than 10 samples beyond them are left out.
    `hdr_histogram` is HdrHistogram's V2 compressed form in base64, of nanoseconds, with 3 significant digits.
    """

    cell: str
    operation: str | None
    clock: Clock
    blocks: int
    count: int
    min_ms: float
    mean_ms: float
    stdev_ms: float
    max_ms: float
    percentiles: tuple[Percentile, ...]
    hdr_histogram: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histograms:
    """The histograms of a run; and what could not be read of them, a line each."""

    run_id: str
    histograms: tuple[CellHistogram, ...]
    unreadable: tuple[str, ...]


class HistogramQuery(Query):
    """Which cells are wanted."""

    cell: Levels[str] = Field((), description="Ids of cells; all, if none is given.")


def histograms(asked: Asked[HistogramQuery]) -> Histograms:
    """Show the distribution of latencies in each cell of a run."""
    folder = asked.catalogue.run_folder(asked.run_id)
    return _merge_histograms(asked.catalogue, folder, read_changed_ns(folder), asked.query.cell)


@functools.lru_cache(_HISTOGRAMS_MAX)
def _merge_histograms(
    catalogue: Catalogue,
    folder: Path,
    changed_ns: int,  # noqa: ARG001 - a changed run is read again
    names: tuple[str, ...],
) -> Histograms:
    run = load_run(folder)
    cells = {cell.cell: cell for cell in summarise(run.records)}
    chosen = tuple(dict.fromkeys(names or cells))
    if missing := [name for name in chosen if name not in cells]:
        hint = f"/api/v1/runs/{run.info.id} lists its cells"
        raise HttpError(HTTPStatus.NOT_FOUND, f"the run has no cell {missing[0]}", hint, parameter="cell")
    unreadable: list[str] = []
    merged: list[CellHistogram] = []
    for name in chosen:
        catalogue.check_running()
        found = read_histograms(folder, cells[name].records)
        unreadable += found.problems
        merged += _describe_histograms(name, found)
    return Histograms(run_id=run.info.id, histograms=tuple(merged), unreadable=tuple(unreadable))


def _describe_histograms(cell: str, found: CellHistograms) -> Iterator[CellHistogram]:
    """Yield a cell's histograms: one a clock, and one an operation besides where it has several."""
    for (clock, operation), blocks in found.blocks.items():
        merged = merge_blocks(blocks)
        if merged.count:
            known = ((each, compute_quantile_ms(merged, each / 100)) for each in _PERCENTILES)
            yield CellHistogram(
                cell=cell,
                operation=operation,
                clock=clock,
                blocks=len(blocks),
                count=merged.count,
                min_ms=merged.compute_quantiles_ns(0)[0] / 1e6,
                mean_ms=merged.mean_ns / 1e6,
                stdev_ms=merged.stdev_ns / 1e6,
                max_ms=merged.compute_quantiles_ns(1)[0] / 1e6,
                percentiles=tuple(Percentile(each, latency_ms) for each, latency_ms in known if latency_ms is not None),
                hdr_histogram=merged.encode(),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressAnswer:
    """How a run goes: its progress, and for how many seconds nothing was heard of it.

    Both are null before it has begun and once it is over; `status` tells which.
    """

    run_id: str
    status: str
    reason: str
    silent_s: float | None
    progress: RunProgress | None


def progress(asked: Asked[Query]) -> ProgressAnswer:
    """Tell how a run goes that has not ended."""
    folder = asked.catalogue.run_folder(asked.run_id)
    info = load_info(folder)
    found = read_progress(folder) if info.status == "running" else None
    return ProgressAnswer(
        run_id=info.id,
        status=info.status,
        reason=info.reason,
        silent_s=round(found.silent_s(), 1) if found else None,
        progress=found,
    )


class SizeQuery(Query):
    """What is to be served."""

    rate: Annotated[float, Field(gt=0, le=RATE_MAX_PER_S), One] = Field(description="Requests/s to serve.")
    p99_ms: Annotated[float, Field(gt=0, le=P99_MAX_MS), One] = Field(description="The p99 to keep, in milliseconds.")
    utilisation: Annotated[float, Field(gt=0, le=1), One] = Field(
        UTILISATION, description="The share of what it keeps that each replica is planned for."
    )


def size(asked: Asked[SizeQuery]) -> SizingData:
    """Compute how many replicas a rate needs, from the loads of a run."""
    objective = SizingObjective(asked.query.rate, asked.query.p99_ms, asked.query.utilisation)
    return make_sizing_data(compute_sizes(asked.catalogue.run(asked.run_id), objective), objective)


class CompareQuery(Query):
    """Two runs."""

    base: Annotated[str, One] = Field(description="The run that is compared with.")
    head: Annotated[str, One] = Field(description="The run that is judged.")


def compare(asked: Asked[CompareQuery]) -> RunComparisonData:
    """Compare two runs by the cells that both have."""
    base, head = asked.catalogue.run(asked.query.base), asked.catalogue.run(asked.query.head)
    return describe_run_comparison(compare_runs(base, head))
