"""Comparisons as programs get them: from the API, and from `--json` of `results` and `compare`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

from wirebench.analysis.compare_cells import Comparison, Gain
from wirebench.analysis.compare_runs import CellChange, RunComparison
from wirebench.analysis.pair import Verdict
from wirebench.analysis.ratio import Ratio
from wirebench.analysis.significance import Significance
from wirebench.analysis.summary import CellSummary
from wirebench.model.metric import COMPARED, Metric
from wirebench.model.record import Gate
from wirebench.model.run_info import RunInfo
from wirebench.present import run_comparison_sentences as sentences
from wirebench.present.sentences import describe_comparison, describe_gain

_View = TypeVar("_View")


def make_view(kind: type[_View], *sources: object, **own: object) -> _View:
    """Return what programs get of objects: each field is given, or that of the first object that has it.

    Of cells, metrics and gates it has the names, and of figures without limit no infinite ends.
    """
    found: dict[str, Any] = dict(own)
    for name in (field.name for field in fields(kind) if field.name not in own):  # type: ignore[arg-type]
        source = next((each for each in sources if hasattr(each, name)), sources[0])
        found[name] = _simplify(getattr(source, name))
    return kind(**found)


def _simplify(value: object) -> object:
    match value:
        case CellSummary():
            return value.cell
        case Metric() | Gate():
            return value.name
        case tuple():
            return tuple(map(_simplify, value))
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class GainData:
    """How much more a comparison's step does for its service than for another: the ratio of the two steps' ratios.

    `subject` and `baseline` are the other service's cells. `faster` is that the change does more for the comparison's.
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
    return make_view(
        CellComparison,
        of,
        verdict=None if of.instruments else of.verdict,
        significance=None if of.instruments else of.significance,
        sentence=describe_comparison(of),
        checks=tuple(map(make_comparison_data, of.checks)),
        gains=tuple(map(_make_gain_data, of.gains)),
    )


def _make_gain_data(of: Gain) -> GainData:
    other = {"subject": of.other.subject.cell, "baseline": of.other.baseline.cell}
    return make_view(GainData, of, **other, ratio=of.ratios.get(of.metric.name), sentence=describe_gain(of))


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
    return make_view(
        RunComparisonData,
        found,
        equivalence_margin=found.margin,
        summary=sentences.summarise_comparison(found),
        remarks=tuple(sentences.list_caveats(found)),
        regressions=tuple(change.subject.cell for change in found.regressions),
        changes=tuple(map(_change, found.changes)),
        differences=tuple(make_view(RunDifference, each) for each in found.differences),
    )


def _change(of: CellChange) -> CellChangeData:
    sides = {"base": _collect_figures(of.baseline), "head": _collect_figures(of.subject)}
    return make_view(CellChangeData, of, of.subject, **sides, sentence=sentences.describe_change(of))


def _collect_figures(cell: CellSummary) -> CellFigures:
    figures = {metric.field: figure for metric in COMPARED.values() if (figure := cell.figure(metric)) is not None}
    return CellFigures(blocks=len(cell.records), figures=figures)
