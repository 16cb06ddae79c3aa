"""A plain load: one cell that options ask for, checked as those of a scenario are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wirebench.errors import UsageError
from wirebench.model.application import load_builtin
from wirebench.model.cell import Cell
from wirebench.model.scenario import Load, Scenario
from wirebench.model.source import Source
from wirebench.plan.load import check_scenario
from wirebench.plan.overrides import Override
from wirebench.plan.plan import make_plan

_RATE = ("factors", "rate_per_s")
_BASE: dict[str, Any] = {"question": "a plain load", "factors": {}, "load": {"warmup_s": 1}, "blocks": 1}


def plan_load(options: Sequence[Override]) -> tuple[Cell, Load]:
    """Return the cell and the load that options ask for; what they leave out, the service has.

    Raises UsageError, which names the option.
    """
    for each in options:
        if isinstance(each.value, list | dict):
            raise UsageError(f"{each.option}: a load takes one value", "a scenario takes several: docs/scenarios.md")
    scenario = _check(options)
    if scenario.load.model == "open" and "ghz" in scenario.drivers.values():
        # ghz keeps a rate, but no scenario takes it: there is no response time.
        (cell,) = make_plan(_check([each for each in options if each.at != _RATE]), 0, "kubernetes").cells
        (rate,) = (each.value for each in options if each.at == _RATE)
        cell = dataclasses.replace(cell, rate_per_s=rate)
    else:
        (cell,) = make_plan(scenario, 0, "kubernetes").cells
    # Writing loads need unused ids on a service that has had other loads: `wirebench run` chooses them.
    operations = load_builtin().operations
    if operations[cell.operation].writes or cell.is_stream:
        reading = ", ".join(name for name, each in operations.items() if not (each.writes or each.stream))
        hint = f"choose from {reading}; `wirebench run` measures writes and streams, too"
        raise UsageError(f"--operation {cell.operation}: it writes or is a stream", hint)
    return (cell if scenario.factors.placement else dataclasses.replace(cell, placement=None)), scenario.load


def _check(options: Sequence[Override]) -> Scenario:
    return check_scenario(_BASE, Source(Path("load"), "wirebench load", {}), overrides=options)
