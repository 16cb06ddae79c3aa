"""A run as one object: terminal, pages and report show it, and programs get it as JSON."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.ladder import find_steps
from wirebench.analysis.summary import CellSummary, compute_excess, summarise
from wirebench.model.labels import name_gate, name_machine, pluralise
from wirebench.model.metric import METRICS, SPREAD, name_spread
from wirebench.model.record import CapacitySearch, Gate, Interval, Record
from wirebench.model.run_info import Run, RunInfo
from wirebench.present.answer import describe_common_factors, list_findings, summarise_run
from wirebench.present.caveats import list_caveats, list_service_notes
from wirebench.present.comparison import ComparisonView, describe_few_blocks, make_comparison_view
from wirebench.present.operations import OperationView, list_operations
from wirebench.store.rows import Result, group_by_metric


@dataclass(frozen=True, slots=True, kw_only=True)
class CellGate:
    """A gate of a cell: of the blocks where it failed the worst, or else the block that came closest to its limit."""

    failed_blocks: tuple[int, ...]
    worst: Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCell(Result):
    """A result with what only a run's folder has: what was used, gates, and searches for the capacity.

    What isn't known is None. Memory and the generator's CPU are the most of any block, fairness the least; the others
    are means of the blocks.
    """

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
    gates: tuple[CellGate, ...]
    searches: tuple[CapacitySearch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedGate:
    """One gate over the whole run: in how many of the windows it failed, how far at worst, and what to do."""

    name: str
    failures: int
    checks: int
    worst: Gate
    #: Cells, with the blocks in which the gate failed.
    where: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Say how often it failed and what to do."""
        windows = pluralise(self.checks, "window")
        return f"gate {name_gate(self.name)} failed in {self.failures} of {windows}: {self.worst.advice}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run with its provenance, its cells with their gates, and what they support, in numbers and in sentences.

    `summary` is the answer; `notes` are what was found beside it, `caveats` what to doubt. `errors` are the texts of
    failed requests, the most frequent first.
    """

    run: RunInfo
    #: What all cells are alike in, and their names leave out.
    alike: str
    summary: tuple[str, ...]
    notes: tuple[str, ...]
    caveats: tuple[str, ...]
    cells: tuple[RunCell, ...]
    comparisons: tuple[ComparisonView, ...]
    #: From REST with JSON to bare frames, changing the codec or the framing at a time.
    steps: tuple[ComparisonView, ...]
    operations: tuple[OperationView, ...]
    failed_gates: tuple[FailedGate, ...]
    errors: tuple[str, ...]


def make_run_view(run: Run) -> RunView:
    """Describe a run; one that is still running has no answer yet."""
    cells = summarise(run.records, run.info.compare)
    comparisons = tuple(map(make_comparison_view, find_comparisons(run)))
    is_over = run.info.status != "running"
    few = describe_few_blocks(comparisons)
    return RunView(
        run=run.info,
        alike=describe_common_factors(cells),
        summary=summarise_run(cells, comparisons) if is_over else (),
        notes=(*(list_findings(cells, comparisons) if is_over else ()), *list_service_notes(cells)),
        caveats=(*list_caveats(run, cells), *([few] if few else [])),
        cells=describe_cells(run.info, cells),
        comparisons=comparisons,
        steps=tuple(map(make_comparison_view, find_steps(cells, run.info.equivalence_margin))) if is_over else (),
        operations=list_operations(run, cells),
        failed_gates=tuple(_list_failed_gates(cells)),
        errors=tuple(_describe_errors(cells)),
    )


def describe_cells(info: RunInfo, cells: Sequence[CellSummary]) -> tuple[RunCell, ...]:
    """Return what the index has of the cells of a run, and what only its folder has."""
    return tuple(_describe_cell(info, cell) for cell in cells)


def _describe_cell(info: RunInfo, cell: CellSummary) -> RunCell:
    failed = {gate.name: gate.metrics for gate in cell.failed_gates()}
    figures: dict[str, Any] = {metric.field: cell.figure(metric) for metric in METRICS.values()}
    for metric in SPREAD:
        blocks = cell.by_block(metric).values()
        figures |= zip(name_spread(metric), (min(blocks, default=None), max(blocks, default=None)), strict=True)
    figures |= {name: cell.factors[name] for name in ("transport", "driver", "operation", "concurrency")}
    return RunCell(
        run_id=info.id,
        scenario=info.scenario,
        started_at=info.started_at,
        target=info.target,
        machine=name_machine(info.machine),
        cell=cell.cell,
        factors=cell.factors,
        protocol=figures["transport"],
        client=figures["driver"],
        blocks=len(cell.records),
        **figures,
        successful=figures["requests"] - figures["failed"],
        errors=cell.error_counts,
        failed_gates=tuple(failed),
        failed_gates_by_metric=group_by_metric(failed),
        **_describe_use(cell),
        gates=tuple(_list_gates(cell)),
        searches=tuple(record.search for record in cell.records if record.search),
    )


def _describe_use(cell: CellSummary) -> dict[str, Any]:
    """Return the fields that only a run's folder has."""

    def combine(read: Callable[[Record], float | None], of: Callable[[list[float]], float] = statistics.fmean) -> Any:  # noqa: ANN401
        known = [value for record in cell.records if (value := read(record)) is not None]
        return of(known) if known else None

    return {
        "blocks_apart": cell.spread(cell.rate),
        "memory_bytes": combine(lambda of: of.server.memory_bytes, max),
        "throttled_periods_per_s": combine(
            lambda of: None if of.server.throttled_periods is None else of.server.throttled_periods / of.window_s
        ),
        "bytes_sent_per_request": combine(lambda of: of.bytes_sent_per_request),
        "bytes_received_per_request": combine(lambda of: of.bytes_received_per_request),
        "bytes_received_per_item": combine(lambda of: of.streams.bytes_received_per_item if of.streams else None),
        "generator_cpu_percent": combine(
            lambda of: None if of.generator.cpu_share is None else 100 * of.generator.cpu_share, max
        ),
        "replica_shares": cell.replica_shares(),
        "fairness": combine(lambda of: None if of.factors["workers"] == 1 else of.server.fairness, min),
        "p50_error_ms": cell.instrument_error_ms(METRICS["p50"]),
        "p99_error_ms": cell.instrument_error_ms(METRICS["p99"]),
    }


def _list_gates(cell: CellSummary) -> Iterator[CellGate]:
    by_name: dict[str, dict[int, Gate]] = {}
    for record in cell.records:
        for gate in record.gates:
            by_name.setdefault(gate.name, {})[record.block] = gate
    for gates in by_name.values():
        failed = {block: gate for block, gate in gates.items() if not gate.passed}
        worst = max(failed.values(), key=compute_excess) if failed else min(gates.values(), key=compute_excess)
        yield CellGate(failed_blocks=tuple(failed), worst=worst)


def _list_failed_gates(cells: Sequence[CellSummary]) -> Iterator[FailedGate]:
    """Yield the failures of all cells by gate, the most frequent first."""
    checks = Counter(gate.name for cell in cells for record in cell.records for gate in record.gates)
    failed: dict[str, dict[str, list[int]]] = {}
    worst: dict[str, Gate] = {}
    for cell in cells:
        for gate in cell.failed_gates():
            worst[gate.name] = max(worst.get(gate.name, gate), gate, key=compute_excess)
        for record in cell.records:
            for gate in record.gates:
                if not gate.passed:
                    failed.setdefault(gate.name, {}).setdefault(cell.full_name, []).append(record.block)
    for name, blocks in sorted(failed.items(), key=lambda each: -sum(map(len, each[1].values()))):
        yield FailedGate(
            name=name,
            failures=sum(map(len, blocks.values())),
            checks=checks[name],
            worst=worst[name],
            where=tuple(
                f"{cell} (block{'s' if len(of) > 1 else ''} {', '.join(map(str, of))})" for cell, of in blocks.items()
            ),
        )


def _describe_errors(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Describe the errors of requests with their counts, and the cells that had most of them."""
    met: dict[str, Counter[str]] = {}
    for cell in cells:
        for error in cell.errors:
            met.setdefault(f"{error.code}: {error.message}", Counter())[cell.full_name] += error.count
    for text, counts in sorted(met.items(), key=lambda each: -each[1].total()):
        cell_name, _ = counts.most_common(1)[0]
        where = cell_name if len(counts) == 1 else f"{pluralise(len(counts), 'cell')}, most in {cell_name}"
        yield f"{counts.total():,}× {text} ({where})"
