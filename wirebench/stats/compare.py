"""Comparisons within a run: cells that differ in one factor, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from wirebench.scenario.contract import COMES_WITH
from wirebench.stats.pair import Pair, block_by_block, failed_gates, judged, ratios, verdict
from wirebench.stats.summary import CellSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Pair):
    """Two cells of a run that differ in one factor.

    `instruments` marks two drivers of one cell: their ratio is the instruments' error, not a difference between
    services. Their baseline is k6, if it is among them.
    """

    factor: str
    instruments: bool

    @property
    def subject_level(self) -> str:
        """The compared factor's level of the subject."""
        return str(self.subject.factors[self.factor])

    @property
    def baseline_level(self) -> str:
        """The compared factor's level of the baseline."""
        return str(self.baseline.factors[self.factor])


def compare(cells: Sequence[CellSummary], factor: str, margin: float) -> tuple[Comparison, ...]:
    """Compare every two cells that differ in the factor and nothing else; and, besides, the drivers of one cell.

    The first driver of a cell is what the others are held against: two of them that agree with it agree.
    """
    comparisons, held = [], set()
    for baseline, subject in itertools.combinations(cells, 2):
        if _differ_only_in(baseline, subject, "driver"):
            if baseline.cell not in held:
                comparisons.append(_compare(baseline, subject, "driver", margin, instruments=True))
            held.add(subject.cell)
        elif _differ_only_in(baseline, subject, factor):
            comparisons.append(_compare(baseline, subject, factor, margin, instruments=False))
    return tuple(sorted(comparisons, key=lambda comparison: comparison.instruments))


def _differ_only_in(a: CellSummary, b: CellSummary, factor: str) -> bool:
    if a.factors[factor] == b.factors[factor]:
        return False
    free = {factor, *COMES_WITH.get(factor, ())}
    return all(a.factors[name] == b.factors[name] for name in a.factors if name not in free)


def _compare(
    baseline: CellSummary, subject: CellSummary, factor: str, margin: float, *, instruments: bool
) -> Comparison:
    metric = judged(baseline)
    measured = ratios(baseline, subject, block_by_block)
    gates = failed_gates(baseline, subject, metric)
    return Comparison(
        subject=subject,
        baseline=baseline,
        metric=metric,
        ratios=measured,
        verdict=verdict(measured.get(metric.name), metric, margin, withheld=bool(gates)),
        failed_gates=gates,
        factor=factor,
        instruments=instruments,
    )
