"""Two runs held against each other, as programs get them: from the API, and from `wirebench compare --json`."""

from __future__ import annotations

from dataclasses import dataclass

from wirebench.stats import across_words
from wirebench.stats.across import Across, Change
from wirebench.stats.pair import Verdict
from wirebench.stats.ratio import Ratio
from wirebench.stats.summary import METRICS, CellSummary
from wirebench.store import RunInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifference:
    """What two runs were made differently with; `reason` says why it keeps figures apart, if it does."""

    name: str
    base: str
    head: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """One cell in one run: how many blocks there are of it, and what is typical of them, by metric."""

    blocks: int
    typical: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellChange:
    """One cell in two runs: ratios of head to base, and what they support.

    The verdict is on `metric`; it is withheld for failed gates, and for `reasons` that keep the figures apart.
    """

    cell: str
    factors: dict[str, str | int | float | None]
    metric: str
    verdict: Verdict
    regressed: bool
    p_value: float | None
    ratios: dict[str, Ratio]
    base: CellFigures
    head: CellFigures
    failed_gates: tuple[str, ...]
    reasons: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two runs cell by cell; `regressions` are the cells that have become slower beyond the margin, with certainty."""

    base: RunInfo
    head: RunInfo
    equivalence_margin: float
    summary: str
    remarks: tuple[str, ...]
    regressions: tuple[str, ...]
    changes: tuple[CellChange, ...]
    only_in_base: tuple[str, ...]
    only_in_head: tuple[str, ...]
    differences: tuple[RunDifference, ...]


def compared(found: Across) -> Compared:
    """Return what two runs come to."""
    return Compared(
        base=found.base,
        head=found.head,
        equivalence_margin=found.margin,
        summary=across_words.summary(found),
        remarks=tuple(across_words.remarks(found)),
        regressions=tuple(change.subject.cell for change in found.regressions),
        changes=tuple(map(_change, found.changes)),
        only_in_base=tuple(cell.cell for cell in found.only_in_base),
        only_in_head=tuple(cell.cell for cell in found.only_in_head),
        differences=tuple(
            RunDifference(name=each.name, base=each.base, head=each.head, reason=each.reason)
            for each in found.differences
        ),
    )


def _change(of: Change) -> CellChange:
    return CellChange(
        cell=of.subject.cell,
        factors=of.subject.factors,
        metric=of.metric.name,
        verdict=of.verdict,
        regressed=of.regressed,
        p_value=of.p_value,
        ratios=of.ratios,
        base=_figures(of.baseline),
        head=_figures(of.subject),
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        reasons=of.reasons,
        sentence=across_words.sentence(of),
    )


def _figures(cell: CellSummary) -> CellFigures:
    figures = {name: cell.typical(metric) for name, metric in METRICS.items()}
    return CellFigures(
        blocks=len(cell.records), typical={name: figure for name, figure in figures.items() if figure is not None}
    )
