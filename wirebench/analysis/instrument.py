"""The gate `instrument`: whether a difference between two cells may be the driver's own error."""

from __future__ import annotations

from wirebench.analysis.ratio import Ratio
from wirebench.analysis.summary import CellSummary
from wirebench.model.metric import Metric
from wirebench.model.record import Gate


def check_instrument(
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
    low, high = ratio.low, ratio.high
    if low is None or high is None:
        return ratio.estimate, ratio.estimate
    if low > 1 or high < 1 or 1 / (1 + margin) <= low <= high <= 1 + margin:
        return low, high
    return ratio.estimate, ratio.estimate
