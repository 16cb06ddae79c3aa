"""The gate `machine_speed`: whether a difference between two runs may be that of the machine itself."""

from __future__ import annotations

from wirebench.analysis.summary import CellSummary
from wirebench.model.metric import Metric
from wirebench.model.record import Gate

SPEED_DIFFERENCE_MAX = 0.05


def check_machine_speed(base: CellSummary, head: CellSummary, metric: Metric) -> Gate | None:
    """Return the gate, if it fails: where the fixed piece of work took longer beside the windows of one run.

    None as well where it isn't known of both.
    """
    base_us, head_us = base.reference_us(), head.reference_us()
    if not base_us or not head_us:
        return None
    ratio = head_us / base_us
    if not is_another_speed(ratio):
        return None
    return Gate(
        name="machine_speed",
        passed=False,
        value=max(ratio, 1 / ratio) - 1,
        limit=SPEED_DIFFERENCE_MAX,
        unit="between the machine's speed in both runs",
        metrics=(metric.name,),
        advice="the machine itself was slower in one of the runs: run both again, one right after the other",
    )


def is_another_speed(ratio: float) -> bool:
    """Return whether a ratio of the times for the fixed piece of work is beyond what the gate allows."""
    return max(ratio, 1 / ratio) - 1 > SPEED_DIFFERENCE_MAX
