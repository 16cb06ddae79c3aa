"""A question as a file, and the plan of cells and blocks that answers it."""

from __future__ import annotations

from wirebench.scenario.cell import Cell, Link, ServiceSpec
from wirebench.scenario.load import read_scenario
from wirebench.scenario.model import Load, Scenario
from wirebench.scenario.plan import Plan, PlannedCell, make_plan

__all__ = ["Cell", "Link", "Load", "Plan", "PlannedCell", "Scenario", "ServiceSpec", "make_plan", "read_scenario"]
