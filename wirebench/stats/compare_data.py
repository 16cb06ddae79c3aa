"""Comparisons within a run, as programs get them: from the API, and from `wirebench results --json`."""

from __future__ import annotations

from dataclasses import dataclass

from wirebench.stats.compare import Comparison
from wirebench.stats.pair import Verdict
from wirebench.stats.ratio import Ratio
from wirebench.stats.words import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class CellComparison:
    """Two cells of a run that differ in one factor: ratios of subject to baseline, and what they support.

    The verdict is on `metric`, and withheld where a gate failed that it depends on. There is none of `instruments`, two
    drivers of one cell: their ratio is the instruments' error. `checks` are the comparisons of the same two services by
    other drivers, on which no verdict rests.
    """

    factor: str
    subject: str
    baseline: str
    metric: str
    verdict: Verdict | None
    instruments: bool
    ratios: dict[str, Ratio]
    failed_gates: tuple[str, ...]
    sentence: str
    checks: tuple[CellComparison, ...]


def describe_comparison(of: Comparison) -> CellComparison:
    """Return a comparison, and in it those that check it."""
    return CellComparison(
        factor=of.factor,
        subject=of.subject.cell,
        baseline=of.baseline.cell,
        metric=of.metric.name,
        verdict=None if of.instruments else of.verdict,
        instruments=of.instruments,
        ratios=of.ratios,
        failed_gates=tuple(gate.name for gate in of.failed_gates),
        sentence=sentence(of),
        checks=tuple(map(describe_comparison, of.checks)),
    )
