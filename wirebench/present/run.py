"""A run as one object: terminal, pages and report show it, and programs get it as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.results import CellGate, Result, RunCell, describe_cells
from wirebench.analysis.summary import CellSummary, compute_excess, summarise
from wirebench.errors import pluralise
from wirebench.model.record import Gate
from wirebench.model.run_info import Run, RunInfo
from wirebench.present.answer import describe_common_factors, list_findings, summarise_run
from wirebench.present.caveats import list_caveats
from wirebench.present.comparison import ComparisonView, describe_few_blocks, make_comparison_view
from wirebench.present.labels import name_fully_in_run, name_gate
from wirebench.present.operations import describe_operations, split_operations


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
    failed requests, the most frequent first. `operations` are those of loads that have several: their `operation` is
    `users.get in crud`, and they are compared by mean latency as the cells are, corrected among themselves.
    """

    run: RunInfo
    #: What all cells are alike in, and their names leave out.
    alike: str
    summary: tuple[str, ...]
    notes: tuple[str, ...]
    caveats: tuple[str, ...]
    cells: tuple[RunCell, ...]
    comparisons: tuple[ComparisonView, ...]
    operations: tuple[Result, ...]
    operation_comparisons: tuple[ComparisonView, ...]
    failed_gates: tuple[FailedGate, ...]
    errors: tuple[str, ...]


def make_run_view(run: Run, cells: Sequence[CellSummary] = (), split: Sequence[CellSummary] | None = None) -> RunView:
    """Describe a run; one that is still running has no answer yet. `cells`, and these `split`, were made before."""
    cells = cells or summarise(run.records, run.info.compare)
    operations = split_operations(run, cells) if split is None else split
    comparisons = tuple(map(make_comparison_view, find_comparisons(run, cells)))
    described = describe_cells(run.info, cells)
    is_over = run.info.status != "running"
    of_operations = tuple(map(make_comparison_view, find_comparisons(run, operations)))
    return RunView(
        run=run.info,
        alike=describe_common_factors(cells),
        summary=summarise_run(cells, comparisons) if is_over else (),
        notes=tuple(list_findings(cells, comparisons, of_operations, run.info.margin)) if is_over else (),
        caveats=(*list_caveats(run, cells), *filter(None, [describe_few_blocks(comparisons)])),
        cells=described,
        comparisons=comparisons,
        operations=describe_operations(run.info, operations),
        operation_comparisons=of_operations,
        failed_gates=tuple(_list_failed_gates(cells, described)),
        errors=tuple(_describe_errors(cells)),
    )


def _list_failed_gates(cells: Sequence[CellSummary], described: Sequence[RunCell]) -> Iterator[FailedGate]:
    """Yield the failures of all cells by gate, the most frequent first."""
    checks = Counter(gate.name for cell in cells for record in cell.records for gate in record.gates)
    failed: dict[str, list[tuple[str, CellGate]]] = {}
    for cell, row in zip(cells, described, strict=True):
        for gate in row.gates:
            if gate.failed_blocks:
                failed.setdefault(gate.worst.name, []).append((name_fully_in_run(cell), gate))
    for name, found in sorted(failed.items(), key=lambda each: -sum(len(gate.failed_blocks) for _, gate in each[1])):
        yield FailedGate(
            name=name,
            failures=sum(len(gate.failed_blocks) for _, gate in found),
            checks=checks[name],
            worst=max((gate.worst for _, gate in found), key=compute_excess),
            where=tuple(f"{cell}: blocks {', '.join(map(str, gate.failed_blocks))}" for cell, gate in found),
        )


def _describe_errors(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Describe the errors of requests with their counts, and the cells that had most of them."""
    met: dict[str, Counter[str]] = {}
    for cell in cells:
        for error in cell.errors:
            met.setdefault(f"{error.code}: {error.message}", Counter())[name_fully_in_run(cell)] += error.count
    for text, counts in sorted(met.items(), key=lambda each: -each[1].total()):
        cell_name, _ = counts.most_common(1)[0]
        where = cell_name if len(counts) == 1 else f"{pluralise(len(counts), 'cell')}, most in {cell_name}"
        yield f"{counts.total():,}× {text} ({where})"
