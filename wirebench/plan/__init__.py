"""From a scenario file to a checked plan of cells and blocks."""

from __future__ import annotations

from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan, make_plan

__all__ = ["Plan", "make_plan", "read_scenario"]
