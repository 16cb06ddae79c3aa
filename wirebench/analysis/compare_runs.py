"""Compare two runs cell by cell: what has become faster or slower from `base` to `head`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from wirebench.analysis.differences import Difference, find_differences
from wirebench.analysis.pair import Comparison, compute_ratios, judge
from wirebench.analysis.ratio import Ratio, unpaired_ratio
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.errors import UsageError
from wirebench.model.metric import Metric
from wirebench.model.run_info import Run, RunInfo

#: By how much the shares of the pinned cores that other programs take may differ. Beside a program that took 5 % of
#: each core, services had up to 14 % fewer requests/s than themselves.
_INTERFERENCE_DIFFERENCE_MAX = 0.01
#: Gates that fail because the service has no room for the load, and not because of how it was measured.
_OVERLOADED = frozenset({"dropped_iterations", "rate_error", "error_rate"})


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs; `changes` are head's cells against base's, in their order, beside the cells that only one run has.

    `differences` are those that concern any cell in both. The margin is head's.
    """

    base: RunInfo
    head: RunInfo
    differences: tuple[Difference, ...]
    changes: tuple[Comparison, ...]
    only_in_base: tuple[CellSummary, ...]
    only_in_head: tuple[CellSummary, ...]

    @property
    def regressions(self) -> tuple[Comparison, ...]:
        """The cells that are slower beyond the margin."""
        return tuple(change for change in self.changes if change.regressed)

    @property
    def reference_ratio(self) -> float | None:
        """How much longer a fixed piece of work took beside head's windows; None if that isn't known of any cell."""
        both = [(change.subject.reference_us(), change.baseline.reference_us()) for change in self.changes]
        ratios = [head_us / base_us for head_us, base_us in both if head_us and base_us]
        return statistics.geometric_mean(ratios) if ratios else None


def compare_runs(base: Run, head: Run) -> RunComparison:
    """Compare two runs by their cells of equal factors, of which both must have one. Raises UsageError.

    Their blocks don't pair: a ratio is that of the geometric means of both sides, with Welch's interval. Verdicts hold
    whether figures follow the machine's own speed or not.
    """
    if base.info.id == head.info.id:
        raise UsageError(
            f"{head.info.id}: BASE and HEAD are the same run", "name two runs: `wirebench list` shows them"
        )
    of_base, of_head = (
        {tuple(sorted(cell.factors.items())): cell for cell in summarise(run.records, run.info.compare)}
        for run in (base, head)
    )
    both = [key for key in of_head if key in of_base]
    if not both:
        nearest = min((dict({*one} ^ {*other}) for one in of_base for other in of_head), key=len, default={})
        differing = f": even the most alike differ in {', '.join(sorted(nearest))}" if nearest else ""
        raise UsageError(
            f"{base.info.id} and {head.info.id} have measured no cell in common{differing}",
            "compare runs of one scenario that have figures: `wirebench list` shows them",
        )
    found = find_differences(base, head)
    changes = [_compare_cell(of_base[key], of_head[key], head.info.equivalence_margin, found) for key in both]
    return RunComparison(
        base=base.info,
        head=head.info,
        differences=tuple(each for each in found if any(each.concerns(change.subject.factors) for change in changes)),
        changes=_find_regressions(judge(changes)),
        only_in_base=tuple(cell for key, cell in of_base.items() if key not in of_head),
        only_in_head=tuple(cell for key, cell in of_head.items() if key not in of_base),
    )


def _compare_cell(base: CellSummary, head: CellSummary, margin: float, found: Sequence[Difference]) -> Comparison:
    reasons = [each.reason for each in found if each.reason and each.concerns(head.factors)]
    taken = (base.interference, head.interference)
    if None not in taken and abs((taken[0] or 0.0) - (taken[1] or 0.0)) > _INTERFERENCE_DIFFERENCE_MAX:
        reasons.append("other programs took more CPU time beside one of the runs")
    return Comparison(
        factor="run",
        subject=head,
        baseline=base,
        metric=base.judged_metric,
        ratios=compute_ratios(base, head, _compute_unpaired_ratio),
        margin=margin,
        reasons=tuple(dict.fromkeys(reasons)),
    )


def _compute_unpaired_ratio(baseline: CellSummary, subject: CellSummary, metric: Metric) -> Ratio | None:
    """Return the ratio of two cells whose blocks have nothing to do with each other.

    How far a figure follows the machine's own speed isn't known: the ratio allows for figures that do in proportion.
    """
    sides = [list(cell.by_block(metric).values()) for cell in (subject, baseline)]
    if not all(sides):
        return None
    ratio = unpaired_ratio(*sides)
    at_one_speed = [cell.by_block_at_one_speed(metric) for cell in (subject, baseline)]
    return ratio.allow_for(unpaired_ratio(*at_one_speed)) if all(at_one_speed) else ratio


def _find_regressions(changes: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Test all changes for being worse beyond the margin; p-values are multiplied by their number (Bonferroni).

    Of one cell alone it is one whose 95 % interval lies beyond the margin as a whole. A head that only gave way under
    its load is tested, too, as figures of an overload look better than the truth.
    """
    tested = {}
    for place, each in enumerate(changes):
        ratio, failed = each.ratios.get(each.metric.name), {gate.name for gate in each.failed_gates}
        is_fit = not each.reasons and not each.baseline.failed_gates(each.metric) and failed <= _OVERLOADED
        if is_fit and ratio and ratio.log_error is not None:
            least_worse = (1 + each.margin) ** (-1 if each.metric.more_is_better else 1)
            tested[place] = ratio.p_value(least_worse, below=each.metric.more_is_better)
    found = list(changes)
    for place, p_value in tested.items():
        change = replace(changes[place], p_value=min(1.0, p_value * len(tested)))
        found[place] = replace(change, verdict="slower") if change.regressed else change
    return tuple(found)
