"""Comparisons and checks as programs get them: from the API, and from `--json` of `results`, `compare` and `check`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wirebench.analysis.budget import BudgetCheck, BudgetVerdict
from wirebench.analysis.compare_cells import Comparison, Gain
from wirebench.analysis.compare_runs import CellChange, RunComparison
from wirebench.analysis.pair import Verdict
from wirebench.analysis.ratio import Ratio
from wirebench.analysis.scaling import Scaling
from wirebench.analysis.scaling_law import Estimate, Model, ScalingLaw
from wirebench.analysis.significance import Significance
from wirebench.analysis.summary import CellSummary
from wirebench.model.metric import COMPARED
from wirebench.model.run_info import RunInfo
from wirebench.present import budget_sentences
from wirebench.present import run_comparison_sentences as sentences
from wirebench.present.scaling import describe_scalings
from wirebench.present.sentences import describe_comparison, describe_gain


@dataclass(frozen=True, slots=True, kw_only=True)
class GainData:
    """How much more a comparison's step does for its service than for another: the ratio of the two steps' ratios.

    `subject` and `baseline` are the other service's cells. `faster` is that the comparison's own service gains more.
    """

    subject: str
    baseline: str
    metric: str
    verdict: Verdict
    significance: Significance | None
    ratio: Ratio | None
    failed_gates: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellComparison:
    """Two cells of a run that differ in one factor: ratios of subject to baseline, and what they support.

    The verdict is on `metric`, and withheld where a gate failed that it depends on. `instruments` have none: two
    drivers of one cell: their ratio is the instruments' error. `checks` are the comparisons of the same two services by
    other drivers, on which no verdict rests. `gains` hold it against the same step of other services.
    """

    factor: str
    subject: str
    baseline: str
    metric: str
    verdict: Verdict | None
    significance: Significance | None
    instruments: bool
    ratios: dict[str, Ratio]
    failed_gates: tuple[str, ...]
    sentence: str
    checks: tuple[CellComparison, ...]
    gains: tuple[GainData, ...]


def make_comparison_data(of: Comparison) -> CellComparison:
    return CellComparison(
        factor=of.factor,
        subject=of.subject.cell,
        baseline=of.baseline.cell,
        metric=of.metric.name,
        verdict=None if of.instruments else of.verdict,
        significance=None if of.instruments else of.significance,
        instruments=of.instruments,
        ratios=of.ratios,
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        sentence=describe_comparison(of),
        checks=tuple(map(make_comparison_data, of.checks)),
        gains=tuple(map(_make_gain_data, of.gains)),
    )


def _make_gain_data(of: Gain) -> GainData:
    return GainData(
        subject=of.other.subject.cell,
        baseline=of.other.baseline.cell,
        metric=of.metric.name,
        verdict=of.verdict,
        significance=of.significance,
        ratio=of.ratios.get(of.metric.name),
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        sentence=describe_gain(of),
    )


@dataclass(frozen=True, slots=True)
class EstimateData:
    """A figure with its 95 % interval; null is without limit."""

    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LawData:
    """A scaling law: X(N) = one N / (1 + sigma (N - 1) + kappa N (N - 1)).

    `fitted` is the law at each level, `residuals` are measured / fitted, `best` is the level of the greatest throughput
    (null: adding always helps). `aicc` is what the model was chosen by. `misfit` is whether the points are farther from
    the law than noise explains.
    """

    model: Model
    one: EstimateData
    sigma: EstimateData
    kappa: EstimateData
    best: EstimateData
    measured: tuple[Ratio, ...]
    fitted: tuple[EstimateData, ...]
    residuals: tuple[float, ...]
    aicc: dict[Model, float]
    misfit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingData:
    """Cells over the levels of a factor, and the scaling law of their throughput; null where `sentence` says why."""

    factor: str
    levels: tuple[float, ...]
    cells: tuple[str, ...]
    law: LawData | None
    failed_gates: tuple[str, ...]
    sentence: str


def make_scaling_data(of: Scaling) -> ScalingData:
    return ScalingData(
        factor=of.series.factor,
        levels=of.series.levels,
        cells=tuple(cell.cell for cell in of.series.cells),
        law=_make_law_data(of.law) if of.law else None,
        failed_gates=tuple(dict.fromkeys(gate.name for _, gate in of.failed)),
        sentence=describe_scalings([of])[0],
    )


def _make_law_data(law: ScalingLaw) -> LawData:
    return LawData(
        model=law.model,
        one=make_estimate_data(law.one),
        sigma=make_estimate_data(law.sigma),
        kappa=make_estimate_data(law.kappa),
        best=make_estimate_data(law.best),
        measured=law.throughput,
        fitted=tuple(map(make_estimate_data, law.predict(law.levels))),
        residuals=law.residuals,
        aicc=dict(law.aicc),
        misfit=law.is_misfit,
    )


def make_estimate_data(of: Estimate) -> EstimateData:
    """Return a figure whose infinite ends are None."""
    return EstimateData(*(each if math.isfinite(each) else None for each in (of.estimate, of.low, of.high)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifference:
    """What two runs were made differently with; `reason` says why it keeps figures apart, if it does."""

    name: str
    base: str
    head: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """One cell in one run: how many blocks there are of it, and its figures, by field."""

    blocks: int
    figures: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChangeData:
    """One cell in two runs: ratios of head to base, and what they support.

    The verdict is on `metric`; it is withheld for failed gates, and for `reasons` that keep the figures apart.
    """

    cell: str
    factors: dict[str, str | int | float | None]
    metric: str
    verdict: Verdict
    significance: Significance | None
    regressed: bool
    p_value: float | None
    ratios: dict[str, Ratio]
    base: CellFigures
    head: CellFigures
    failed_gates: tuple[str, ...]
    reasons: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparisonData:
    """Two runs cell by cell; `regressions` are the cells that have become slower beyond the margin."""

    base: RunInfo
    head: RunInfo
    equivalence_margin: float
    summary: str
    remarks: tuple[str, ...]
    regressions: tuple[str, ...]
    changes: tuple[CellChangeData, ...]
    only_in_base: tuple[str, ...]
    only_in_head: tuple[str, ...]
    differences: tuple[RunDifference, ...]


def describe_run_comparison(found: RunComparison) -> RunComparisonData:
    return RunComparisonData(
        base=found.base,
        head=found.head,
        equivalence_margin=found.margin,
        summary=sentences.summarise_comparison(found),
        remarks=tuple(sentences.list_caveats(found)),
        regressions=tuple(change.subject.cell for change in found.regressions),
        changes=tuple(map(_change, found.changes)),
        only_in_base=tuple(cell.cell for cell in found.only_in_base),
        only_in_head=tuple(cell.cell for cell in found.only_in_head),
        differences=tuple(
            RunDifference(name=each.name, base=each.base, head=each.head, reason=each.reason)
            for each in found.differences
        ),
    )


def _change(of: CellChange) -> CellChangeData:
    return CellChangeData(
        cell=of.subject.cell,
        factors=of.subject.factors,
        metric=of.metric.name,
        verdict=of.verdict,
        significance=of.significance,
        regressed=of.regressed,
        p_value=of.p_value,
        ratios=of.ratios,
        base=_figures(of.baseline),
        head=_figures(of.subject),
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        reasons=of.reasons,
        sentence=sentences.describe_change(of),
    )


def _figures(cell: CellSummary) -> CellFigures:
    figures = {metric.field: figure for metric in COMPARED.values() if (figure := cell.figure(metric)) is not None}
    return CellFigures(blocks=len(cell.records), figures=figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCheckData:
    """One limit of one cell, in the metric's unit; with the bound `slower`, a share, and `figure` is head / base.

    `measured` is the cell's figure; `figure` is what is tested: the geometric mean of its blocks, with its interval.
    The verdict is withheld for failed gates and for `reasons`.
    """

    cell: str
    factors: dict[str, str | int | float | None]
    metric: str
    bound: str
    limit: float
    measured: float | None
    figure: Ratio | None
    verdict: BudgetVerdict
    failed_gates: tuple[str, ...]
    reasons: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCheckData:
    """A run against a budget, limit by limit."""

    run: RunInfo
    base: RunInfo | None
    summary: str
    remarks: tuple[str, ...]
    checks: tuple[LimitCheckData, ...]


def describe_budget_check(found: BudgetCheck) -> BudgetCheckData:
    return BudgetCheckData(
        run=found.run,
        base=found.base,
        summary=budget_sentences.summarise_check(found),
        remarks=tuple(budget_sentences.list_budget_caveats(found)),
        checks=tuple(
            LimitCheckData(
                cell=each.cell.cell,
                factors=each.cell.factors,
                metric=each.metric.name,
                bound=each.bound,
                limit=each.limit,
                measured=each.measured,
                figure=each.figure,
                verdict=each.verdict,
                failed_gates=tuple(gate.name for gate in each.failed_gates),
                reasons=each.reasons,
                sentence=budget_sentences.describe_check(each),
            )
            for each in found.checks
        ),
    )
