"""Two cells that are held against each other, within a run or across two, and the verdict on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wirebench.stats.instrument import check_instrument
from wirebench.stats.ratio import Ratio, paired_ratio, unpaired_ratio
from wirebench.stats.summary import METRICS, CellSummary, Metric
from wirebench.store import Gate

Verdict = Literal["faster", "slower", "equivalent", "inconclusive", "withheld"]

#: Makes the ratio of two cells by a metric: subject / baseline; None where one of them lacks figures.
RatioOf = Callable[[CellSummary, CellSummary, Metric], Ratio | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`subject` against `baseline`.

    `ratios` are subject / baseline by metric, where both were measured. The verdict is on `metric`; it is withheld if
    a gate that the metric depends on failed in either cell or, with a `margin`, between the two.
    """

    subject: CellSummary
    baseline: CellSummary
    metric: Metric
    ratios: dict[str, Ratio]
    verdict: Verdict
    failed_gates: tuple[Gate, ...]
    #: Differences within it make none to the asker; None between two drivers, whose error is what is looked for.
    margin: float | None

    def unfit(self, metric: str) -> tuple[Gate, ...]:
        """Return the failed gates that this metric depends on, one of each name."""
        return failed_gates(self.baseline, self.subject, METRICS[metric], self.ratios.get(metric), self.margin)


def judged(cell: CellSummary) -> Metric:
    """Return what a cell is judged by: where a rate is given, what differs is how long users wait."""
    is_given = cell.factors["rate_per_s"] or cell.factors["shape"]
    if cell.has_streams:
        return METRICS["first_item" if is_given or cell.factors["stream_rate_limit_per_s"] else "item_rate"]
    return METRICS["p99" if is_given else "throughput"]


def ratios(baseline: CellSummary, subject: CellSummary, ratio_of: RatioOf) -> dict[str, Ratio]:
    """Return subject / baseline by metric, where both were measured."""
    return {name: ratio for name, metric in METRICS.items() if (ratio := ratio_of(baseline, subject, metric))}


def block_by_block(baseline: CellSummary, subject: CellSummary, metric: Metric) -> Ratio | None:
    """Return the ratio of two cells that were measured in the same blocks."""
    of_baseline, of_subject = baseline.by_block(metric), subject.by_block(metric)
    blocks = sorted(of_baseline.keys() & of_subject.keys())
    if not blocks:
        return None
    return paired_ratio([of_subject[block] for block in blocks], [of_baseline[block] for block in blocks])


def side_by_side(baseline: CellSummary, subject: CellSummary, metric: Metric) -> Ratio | None:
    """Return the ratio of two cells whose blocks have nothing to do with each other."""
    of_baseline, of_subject = baseline.by_block(metric), subject.by_block(metric)
    if not (of_baseline and of_subject):
        return None
    return unpaired_ratio(list(of_subject.values()), list(of_baseline.values()))


def failed_gates(
    baseline: CellSummary, subject: CellSummary, metric: Metric, ratio: Ratio | None, margin: float | None
) -> tuple[Gate, ...]:
    """Return the gates that failed in either cell and that a metric depends on, one of each name.

    With a margin, the gate `instrument` between the two cells is among them.
    """
    failed = {gate.name: gate for cell in (baseline, subject) for gate in cell.failed_gates(metric)}
    if margin is not None and (between := check_instrument(baseline, subject, metric, ratio, margin)):
        failed[between.name] = between
    return tuple(failed.values())


def verdict(ratio: Ratio | None, metric: Metric, margin: float, *, withheld: bool) -> Verdict:
    """Return what a metric's ratio supports; nothing if there is none, or if it is withheld for what is known else."""
    if ratio is None or withheld:
        return "withheld"
    return judge(ratio, margin, higher_is_better=metric.higher_is_better)


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
