"""Comparisons and their verdicts: what the numbers support, in one sentence each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wirebench.scenario.contract import COMES_WITH
from wirebench.stats.ratio import Ratio, paired_ratio
from wirebench.stats.summary import METRICS, CellSummary, Metric
from wirebench.store import Gate

Verdict = Literal["faster", "slower", "equivalent", "inconclusive", "withheld"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`subject` against `baseline`, two cells that differ in one factor.

    `ratios` are subject / baseline by metric, where both were measured. The verdict is on `metric`; it is withheld if
    a gate that the metric depends on failed in either cell. `instruments` marks two drivers of one cell: their ratio is
    the instruments' error, not a difference between services. Their baseline is k6, if it is among them.
    """

    factor: str
    subject: CellSummary
    baseline: CellSummary
    metric: Metric
    ratios: dict[str, Ratio]
    verdict: Verdict
    failed_gates: tuple[Gate, ...]
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
    metric = _judged(baseline)
    ratios = {name: ratio for name, each in METRICS.items() if (ratio := _ratio(baseline, subject, each))}
    gates = {gate.name: gate for cell in (baseline, subject) for gate in cell.failed_gates(metric)}
    verdict: Verdict = "withheld"
    if not gates and metric.name in ratios:
        verdict = judge(ratios[metric.name], margin, higher_is_better=metric.higher_is_better)
    return Comparison(factor, subject, baseline, metric, ratios, verdict, tuple(gates.values()), instruments)


def _judged(cell: CellSummary) -> Metric:
    """Return what a cell is judged by: where a rate is given, what differs is how long users wait."""
    is_given = cell.factors["rate_per_s"] or cell.factors["shape"]
    if cell.has_streams:
        return METRICS["first_item" if is_given or cell.factors["stream_rate_limit_per_s"] else "item_rate"]
    return METRICS["p99" if is_given else "throughput"]


def _ratio(baseline: CellSummary, subject: CellSummary, metric: Metric) -> Ratio | None:
    of_baseline, of_subject = baseline.by_block(metric), subject.by_block(metric)
    blocks = sorted(of_baseline.keys() & of_subject.keys())
    if not blocks:
        return None
    return paired_ratio([of_subject[block] for block in blocks], [of_baseline[block] for block in blocks])


def judge(ratio: Ratio, margin: float, *, higher_is_better: bool) -> Verdict:
    """Return what a ratio supports: an interval inside the margin is equivalence; one without 1, a difference."""
    if ratio.low is None or ratio.high is None:
        return "inconclusive"
    if 1 / (1 + margin) <= ratio.low and ratio.high <= 1 + margin:
        return "equivalent"
    if ratio.low > 1:
        return "faster" if higher_is_better else "slower"
    if ratio.high < 1:
        return "slower" if higher_is_better else "faster"
    return "inconclusive"
