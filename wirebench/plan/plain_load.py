"""A plain load: one cell that options ask for, checked as those of a scenario are."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wirebench.errors import UsageError
from wirebench.model.application import load_builtin
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS
from wirebench.model.scenario import Load, Scenario
from wirebench.model.source import Source
from wirebench.plan.driver_support import DRIVER_FACTS
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
    _check_names(options)
    scenario = _check(options)
    if scenario.load.model == "open" and "ghz" in scenario.drivers.values():
        # ghz keeps a rate, but no scenario takes it: there is no response time.
        (cell,) = make_plan(_check([each for each in options if each.at != _RATE]), 0, "kubernetes").cells
        (rate,) = (each.value for each in options if each.at == _RATE)
        cell = dataclasses.replace(cell, rate_per_s=rate)
    else:
        (cell,) = make_plan(scenario, 0, "kubernetes").cells
    return (cell if scenario.factors.placement else dataclasses.replace(cell, placement=None)), scenario.load


def _check_names(options: Sequence[Override]) -> None:
    """Reject operations and drivers that scenarios may have, and a load hasn't."""
    given = {each.at[-1]: each for each in options}
    # Writing loads need unused ids on a service that has had other loads: `wirebench run` chooses them.
    reading = [name for name, each in load_builtin().operations.items() if not (each.writes or each.stream)]
    if (operation := given.get("operation")) and operation.value not in reading:
        hint = f"choose from {', '.join(reading)}; `wirebench run` measures what writes or is a stream, too"
        raise UsageError(f"{operation.option}: no operation of a load", hint)
    drivers = [name for name in TRANSPORTS[given["transport"].value].drivers if DRIVER_FACTS[name].in_clusters]
    if (driver := given.get("driver")) and driver.value not in drivers:
        hint = f"choose from {', '.join(drivers)}"
        raise UsageError(f"{driver.option}: no driver of {given['transport'].value} in load pods", hint)


def _check(options: Sequence[Override]) -> Scenario:
    return check_scenario(_BASE, Source(Path("load"), "wirebench load", {}), overrides=options)
