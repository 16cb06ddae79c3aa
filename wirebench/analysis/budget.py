"""Limits that figures of a run have to keep: which are met, which are broken, and which the data can't decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wirebench.analysis.compare_runs import CellChange, compare_runs
from wirebench.analysis.ratio import Ratio, mean
from wirebench.analysis.series import OVERLOADED
from wirebench.analysis.significance import EQUIVALENCE_LEVEL, FALSE_ALARMS, find_significant
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.errors import UsageError
from wirebench.model.budget import LIMITED, Bound, Budget, CellBudget
from wirebench.model.cell import has_levels
from wirebench.model.labels import Factors
from wirebench.model.metric import Metric
from wirebench.model.record import Gate
from wirebench.model.run_info import RunInfo
from wirebench.model.source import FieldPath, Source
from wirebench.results.runs import Run

BudgetVerdict = Literal["met", "broken", "undecided", "withheld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCheck:
    """One limit of one cell.

    `limit` is in the metric's unit; with the bound `slower` it is the share that head may be slower than base, and
    `figure` the ratio head / base. Otherwise `figure` is the geometric mean of the blocks, which is what is tested.
    `figure` is None where nothing was measured; a count has no interval. The verdict is
    withheld for `failed_gates` and `reasons`; if a service only gave way under its load, a limit may still be broken,
    as figures of an overload look better than the truth. `p_broken` is the chance of a figure that far beyond the
    limit, were it kept; None where nothing is tested.
    """

    cell: CellSummary
    metric: Metric
    bound: Bound | Literal["slower"]
    limit: float
    figure: Ratio | None = None
    verdict: BudgetVerdict = "withheld"
    failed_gates: tuple[Gate, ...] = ()
    reasons: tuple[str, ...] = ()
    p_broken: float | None = None

    @property
    def measured(self) -> float | None:
        """The figure of the cell, as it stands in all tables; None of a ratio."""
        return None if self.bound == "slower" else self.cell.figure(self.metric)


@dataclass(frozen=True, slots=True)
class BudgetCheck:
    """All limits of a budget in a run, in the order of the file; `base` is what it was compared with, if it was."""

    run: RunInfo
    base: RunInfo | None
    checks: tuple[LimitCheck, ...]

    @property
    def tested(self) -> int:
        """How many limits have an interval to test."""
        return sum(check.p_broken is not None for check in self.checks)

    def with_verdict(self, *verdicts: BudgetVerdict) -> tuple[LimitCheck, ...]:
        return tuple(check for check in self.checks if check.verdict in verdicts)


def check_budget(budget: Budget, source: Source, run: Run, base: Run | None = None) -> BudgetCheck:
    """Check a run's figures against their limits.

    A limit is met where the 95 % interval of the figure lies within it, and broken where it lies beyond; of several
    limits, those are broken that lie beyond together. Counts are compared as they are. Raises UsageError, with the
    line, for limits that there is nothing to check by.
    """
    if run.info.status == "running":
        raise UsageError(f"{run.info.id} is still running", "wait until it has ended")
    if not run.records:
        raise UsageError(
            f"no window of {run.info.id} was measured: it has nothing to check", "`wirebench list` shows runs"
        )
    _check_base(budget, source, base)
    cells = summarise(run.records)
    changes = {change.subject.cell: change for change in compare_runs(base, run).changes} if base else {}
    checks: list[LimitCheck] = []
    for place, each in enumerate(budget.budgets):
        at = ("budgets", place)
        chosen = _choose_cells(each, source.locate((*at, "cells")), cells, run.info.id)
        checks += _check_limits(each, chosen, at, source, run.info.looks_planned)
        if each.slower_than_base_max is not None:
            checks += (_check_change(cell, changes.get(cell.cell), each.slower_than_base_max) for cell in chosen)
    return BudgetCheck(run.info, base.info if base else None, _decide(checks, run.info.looks_planned))


def _check_base(budget: Budget, source: Source, base: Run | None) -> None:
    """Check that there is a base if a limit needs one, and only then. Raises UsageError."""
    with_base = [place for place, each in enumerate(budget.budgets) if each.slower_than_base_max is not None]
    if with_base and base is None:
        where = source.locate(("budgets", with_base[0], "slower_than_base_max"))
        raise UsageError(f"{where}: slower_than_base_max needs a run to compare with", "name one: --base RUN")
    if base and not with_base:
        raise UsageError(f"--base: {source.name} has no slower_than_base_max", "add one, or leave --base out")


def _choose_cells(budget: CellBudget, where: str, cells: Sequence[CellSummary], run_id: str) -> tuple[CellSummary, ...]:
    chosen = tuple(cell for cell in cells if has_levels(cell.factors, budget.cells))
    if not chosen:
        asked = ", ".join(f"{name}={' or '.join(levels)}" for name, levels in budget.cells.items())
        there = "; ".join(f"{name} {', '.join(_list_levels(name, cells))}" for name in budget.cells)
        raise UsageError(f"{where}: no cell of {run_id} has {asked}", f"its cells have {there}")
    return chosen


def _list_levels(name: str, cells: Sequence[CellSummary]) -> dict[str, None]:
    factors: list[Factors] = [cell.factors for cell in cells]
    return dict.fromkeys(str("none" if each[name] is None else each[name]) for each in factors)


def _check_limits(
    budget: CellBudget, cells: Sequence[CellSummary], at: FieldPath, source: Source, looks: int
) -> Iterator[LimitCheck]:
    """Yield a check of each limit on a metric and each cell, which isn't tested yet.

    Raises UsageError if no cell has the figure.
    """
    for bound, key, limit in budget.list_limits():
        checks = [_check_limit(cell, bound, LIMITED[key], limit, looks) for cell in cells]
        if not any(check.figure or check.failed_gates or check.verdict == "broken" for check in checks):
            where = source.locate((*at, bound, key))
            hint = "choose another figure, or other cells"
            raise UsageError(f"{where}: no cell that it is for has {LIMITED[key].label}", hint)
        yield from checks


def _check_limit(cell: CellSummary, bound: Bound, metric: Metric, limit: float, looks: int) -> LimitCheck:
    check = LimitCheck(cell=cell, metric=metric, bound=bound, limit=limit, failed_gates=cell.failed_gates(metric))
    if metric.over_blocks == "sum":
        count = cell.figure(metric)
        if count is None:
            return check
        if not any(record.requests for record in cell.records):
            return replace(check, verdict="broken", reasons=("nothing was answered",))
        is_kept = count <= limit if bound == "max" else count >= limit
        figure = Ratio(count, None, None, len(cell.records), None, None)
        return replace(check, figure=figure, verdict="met" if is_kept else "broken")
    figures = list(cell.by_block(metric).values())
    if not figures:
        return replace(check, reasons=() if check.failed_gates else ("not measured",))
    # The geometric mean of the others would hide a block in which nothing succeeded.
    reasons = (f"measured in {len(figures)} of {len(cell.records)} blocks",) if len(figures) < len(cell.records) else ()
    return replace(check, figure=mean(figures, looks), reasons=reasons)


def _check_change(cell: CellSummary, change: CellChange | None, share: float) -> LimitCheck:
    if change is None:
        return LimitCheck(
            cell=cell, metric=cell.judged_metric, bound="slower", limit=share, reasons=("base has no such cell",)
        )
    return LimitCheck(
        cell=cell,
        metric=change.metric,
        bound="slower",
        limit=share,
        figure=change.ratios.get(change.metric.name),
        failed_gates=change.failed_gates,
        reasons=change.reasons or (("a gate failed in base",) if change.baseline.failed_gates(change.metric) else ()),
    )


def _decide(checks: Sequence[LimitCheck], looks: int) -> tuple[LimitCheck, ...]:
    """Return checks with what their intervals support, all limits together."""
    tests = {place: tested for place, check in enumerate(checks) if (tested := _test(check, looks))}
    held = find_significant([p_broken for _, p_broken in tests.values()], FALSE_ALARMS)
    are_broken = dict(zip(tests, held, strict=True))
    decided = []
    for place, check in enumerate(checks):
        if place in tests:
            p_met, p_broken = tests[place]
            verdict = _name_verdict(check, p_met, is_broken=are_broken[place])
            decided.append(replace(check, verdict=verdict, p_broken=p_broken))
        elif _can_be_broken(check) and not check.failed_gates:
            decided.append(replace(check, verdict="undecided"))
        else:
            decided.append(check)
    return tuple(decided)


def _name_verdict(check: LimitCheck, p_met: float, *, is_broken: bool) -> BudgetVerdict:
    if is_broken:
        return "broken"
    if check.failed_gates:
        return "withheld"
    return "met" if p_met <= EQUIVALENCE_LEVEL else "undecided"


def _can_be_broken(check: LimitCheck) -> bool:
    """Return whether a figure can be judged, and is no count, which has been."""
    failed = {gate.name for gate in check.failed_gates}
    return check.verdict == "withheld" and check.figure is not None and failed <= OVERLOADED and not check.reasons


def _test(check: LimitCheck, looks: int) -> tuple[float, float] | None:
    """Return the p-values of a figure within its limit, and of one beyond it; None without an interval to test.

    What was measured is the truth and the driver's error, which may be anywhere in its interval.
    """
    figure = check.figure
    if figure is None or figure.log_error is None or not _can_be_broken(check):
        return None
    if check.bound == "slower":
        is_max = not check.metric.higher_is_better
        low = high = 1 + check.limit if is_max else 1 / (1 + check.limit)
        looks = 1
    else:
        is_max = check.bound == "max"
        error_low, error_high = check.cell.instrument_error_ms(check.metric) or (0.0, 0.0)
        low, high = check.limit + min(error_low, 0.0), check.limit + max(error_high, 0.0)
    p_below = figure.p_value(low, below=True) if low > 0 else 1.0
    p_above = figure.p_value(high, below=False)
    p_met, p_broken = (p_below, p_above) if is_max else (p_above, p_below)
    return min(1.0, looks * p_met), min(1.0, looks * p_broken)
