"""The gate `instrument`: whether a difference between two cells may be the driver's own error."""

from __future__ import annotations

from wirebench.stats.summary import CellSummary, Metric
from wirebench.store import Gate


def check_instrument(baseline: CellSummary, subject: CellSummary, metric: Metric, margin: float) -> Gate | None:
    """Return the gate, if it fails: where a metric's true difference may have either sign, and may matter.

    The true difference is what was measured, less the subject's error, plus the baseline's. Each error may be anywhere
    in its interval. A difference within the margin doesn't matter. None as well for what isn't a latency, and for
    cells that weren't calibrated.
    """
    of_subject, of_baseline = subject.instrument_error_ms(metric), baseline.instrument_error_ms(metric)
    subject_ms, baseline_ms = subject.typical(metric), baseline.typical(metric)
    if of_subject is None or of_baseline is None or subject_ms is None or baseline_ms is None:
        return None
    difference_ms = subject_ms - baseline_ms
    least_ms = difference_ms - of_subject[1] + of_baseline[0]
    most_ms = difference_ms - of_subject[0] + of_baseline[1]
    is_certain = least_ms > 0 or most_ms < 0
    is_small = 1 / (1 + margin) <= 1 + least_ms / baseline_ms and 1 + most_ms / baseline_ms <= 1 + margin
    if is_certain or is_small:
        return None
    return Gate(
        name="instrument",
        passed=False,
        value=abs(difference_ms),
        limit=difference_ms - least_ms if difference_ms > 0 else most_ms - difference_ms,
        unit="ms",
        metrics=(metric.name,),
        advice="the difference may be the driver's own error: choose a driver or a load whose error is smaller",
    )
