"""Two cells that are compared, within a run or across two, and the verdict on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wirebench.analysis.ratio import Ratio
from wirebench.analysis.significance import FALSE_ALARMS, Significance, compute_significance
from wirebench.analysis.summary import CellSummary
from wirebench.model.metric import COMPARED, METRICS, Metric
from wirebench.model.record import Gate

Verdict = Literal["faster", "slower", "equivalent", "inconclusive", "withheld"]

#: Makes the ratio of two cells by a metric: subject / baseline; None where one of them lacks figures.
RatioOf = Callable[[CellSummary, CellSummary, Metric], Ratio | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`subject` against `baseline`: two cells of a run that differ in `factor`, or one cell in two runs (`run`).

    `ratios` are subject / baseline by metric, where both were measured. The verdict is on `metric`; it is withheld if
    a gate failed, and for other `reasons`. `judge` sets it, and `significance` where there is an interval to test.
    `instruments` marks two drivers of one cell: their ratio is the instruments' error, not a difference between
    services. `checks` are the comparisons of the same two services by other drivers: the verdict doesn't rest on them.
    `gains` hold what a step, such as from one worker to two, does for this service against what it does for others:
    the ratio of the two steps' ratios.
    """

    factor: str
    subject: CellSummary
    baseline: CellSummary
    metric: Metric
    ratios: dict[str, Ratio]
    verdict: Verdict = "withheld"
    significance: Significance | None = None
    #: Failed gates that are not of the cells themselves.
    other_failed_gates: tuple[Gate, ...] = ()
    reasons: tuple[str, ...] = ()
    #: Ratios this close to 1 make no difference to the asker.
    margin: float
    #: Whether the drivers' own error may withhold it: between two drivers it is what is looked for.
    is_calibrated: bool = True
    instruments: bool = False
    checks: tuple[Comparison, ...] = ()
    gains: tuple[Comparison, ...] = ()
    #: Of two runs, one-sided: the chance of a ratio that much worse in any cell, were all slower by just the margin.
    p_value: float | None = None

    @property
    def failed_gates(self) -> tuple[Gate, ...]:
        """The failed gates that the metric of the verdict depends on, one of each name."""
        gates = (*self.list_failed_gates(self.metric.name), *self.other_failed_gates)
        return tuple({gate.name: gate for gate in gates}.values())

    @property
    def regressed(self) -> bool:
        """Whether head is slower than base beyond the margin."""
        return self.p_value is not None and self.p_value <= FALSE_ALARMS

    def list_failed_gates(self, metric: str) -> tuple[Gate, ...]:
        """Return the gates that failed in either cell, or between them, and that this metric depends on."""
        cells, of = (self.baseline, self.subject), METRICS[metric]
        failed = {gate.name: gate for cell in cells for gate in cell.failed_gates(of)}
        if self.is_calibrated and (gate := _check_instrument(*cells, of, self.ratios.get(metric), self.margin)):
            failed[gate.name] = gate
        return tuple(failed.values())


def compute_ratios(baseline: CellSummary, subject: CellSummary, ratio_of: RatioOf) -> dict[str, Ratio]:
    """Return subject / baseline by metric, where both were measured; rates that were searched for have others."""
    names = ("capacity",) if baseline.factors["shape"] == "capacity" else COMPARED
    return {name: ratio for name in names if (ratio := ratio_of(baseline, subject, METRICS[name]))}


def judge(pairs: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return pairs with what their ratios support, tested together."""
    judged = {
        place: ratio
        for place, pair in enumerate(pairs)
        if not (pair.failed_gates or pair.reasons) and (ratio := pair.ratios.get(pair.metric.name))
    }
    tested = {place: ratio for place, ratio in judged.items() if ratio.log_error is not None}
    margins = [pairs[place].margin for place in tested]
    tests = dict(zip(tested, compute_significance(tuple(tested.values()), margins), strict=True))
    return tuple(
        replace(pair, verdict=_decide(judged.get(place), tests.get(place), pair.metric), significance=tests.get(place))
        for place, pair in enumerate(pairs)
    )


def _decide(ratio: Ratio | None, tests: Significance | None, metric: Metric) -> Verdict:
    if ratio is None:
        return "withheld"
    if tests and tests.is_equivalent:
        return "equivalent"
    if tests and tests.is_different:
        return "faster" if (ratio.estimate > 1) == metric.more_is_better else "slower"
    return "inconclusive"


def _check_instrument(
    baseline: CellSummary, subject: CellSummary, metric: Metric, ratio: Ratio | None, margin: float
) -> Gate | None:
    """Return the gate, if it fails: where a metric's true difference may have either sign, and may matter.

    The true difference is what was measured, less the subject's error, plus the baseline's. Each error may be anywhere
    in its interval, and so may what was measured, where its interval would support a verdict. A difference within the
    margin doesn't matter. None as well for what isn't a latency, and for cells that weren't calibrated.
    """
    of_subject, of_baseline = subject.instrument_error_ms(metric), baseline.instrument_error_ms(metric)
    baseline_ms = baseline.typical(metric)
    if of_subject is None or of_baseline is None or baseline_ms is None or ratio is None:
        return None
    low, high = _find_conclusive_ends(ratio, margin)
    least_ms = (low - 1) * baseline_ms - of_subject[1] + of_baseline[0]
    most_ms = (high - 1) * baseline_ms - of_subject[0] + of_baseline[1]
    is_certain = least_ms > 0 or most_ms < 0
    is_small = 1 / (1 + margin) <= 1 + least_ms / baseline_ms and 1 + most_ms / baseline_ms <= 1 + margin
    if is_certain or is_small:
        return None
    difference_ms = (ratio.estimate - 1) * baseline_ms
    return Gate(
        name="instrument",
        passed=False,
        value=abs(difference_ms),
        limit=of_subject[1] - of_baseline[0] if difference_ms > 0 else of_baseline[1] - of_subject[0],
        unit="ms",
        metrics=(metric.name,),
        advice="the difference may be the driver's own error: choose a driver or a load whose error is smaller",
    )


def _find_conclusive_ends(ratio: Ratio, margin: float) -> tuple[float, float]:
    """Return the ends of a ratio's interval if they support a verdict; of others, the estimate alone is looked at."""
    low, high = ratio.interval or (0.0, math.inf)
    is_conclusive = low > 1 or high < 1 or 1 / (1 + margin) <= low <= high <= 1 + margin
    return (low, high) if is_conclusive else (ratio.estimate, ratio.estimate)
