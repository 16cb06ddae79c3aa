"""What a plan refuses: cells whose answers or figures would be wrong, and questions that no cell answers."""

from __future__ import annotations

from wirebench.scenario.refusals.cells import impossible
from wirebench.scenario.refusals.levels import incomparable, unfit_cross_check, unfit_levels, unfit_runtimes
from wirebench.scenario.refusals.loads import unfit_load
from wirebench.scenario.refusals.refusal import Refusal
from wirebench.scenario.refusals.targets import RECORDED_IN_CLUSTER_MAX, unfit_target

__all__ = [
    "RECORDED_IN_CLUSTER_MAX",
    "Refusal",
    "impossible",
    "incomparable",
    "unfit_cross_check",
    "unfit_levels",
    "unfit_load",
    "unfit_runtimes",
    "unfit_target",
]
