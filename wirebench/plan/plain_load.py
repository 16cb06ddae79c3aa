"""A plain load: a scenario of one cell and one block, of what options ask for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wirebench.errors import UsageError
from wirebench.model.application import load_builtin
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.contract import TargetName
from wirebench.model.scenario import Scenario
from wirebench.model.source import FieldPath, Source, dump_yaml
from wirebench.plan.load import check_scenario
from wirebench.plan.overrides import Override
from wirebench.plan.plan import Plan, PlannedCell, make_plan

_OPERATION, _RATE = ("factors", "operation"), ("factors", "rate_per_s")


def plan_load(options: Sequence[Override], seed: int, target: TargetName) -> Plan:
    """Return the plan of the one window that options ask for. Raises UsageError, which names the option."""
    for each in options:
        if isinstance(each.value, list | dict):
            raise UsageError(f"{each.option}: a load takes one value", "a scenario takes several: docs/scenarios.md")
    if target == "kubernetes":
        _check_operation(options)
    scenario = _check_scenario(options)
    (driver,) = scenario.factors.driver.values()
    # ghz keeps a rate, but no scenario takes it: there is no response time.
    paced = [each for each in options if each.at != _RATE] if driver == ("ghz",) else options
    plan = make_plan(_check_scenario(paced), seed, target)
    (cell,) = plan.cells
    rate = next((each.value for each in options if each.at == _RATE), None)
    # From anywhere, unless it is asked for.
    placement = cell.placement if scenario.factors.placement else None
    cell = dataclasses.replace(cell, rate_per_s=rate, placement=placement)
    return _replace_cell(dataclasses.replace(plan, scenario=scenario), cell)


def adopt_service(plan: Plan, service: ServiceSpec) -> Plan:
    """Return the plan of a load on a service as it is."""
    (cell,) = plan.cells
    return _replace_cell(plan, cell.adopt(service))


def _check_operation(options: Sequence[Override]) -> None:
    """Reject what writes: services that stay have ids of other loads; `wirebench run` starts fresh ones."""
    reading = [name for name, each in load_builtin().operations.items() if not (each.writes or each.stream)]
    for each in options:
        if each.at == _OPERATION and each.value not in reading:
            hint = f"choose from {', '.join(reading)}; `wirebench run` measures what writes or is a stream, too"
            raise UsageError(f"{each.option}: no operation of a load", hint)


def _check_scenario(options: Sequence[Override]) -> Scenario:
    asked: dict[str, dict[str, Any]] = {"factors": {}, "load": {"warmup_s": 1}}
    for each in options:
        section, key = each.at
        asked[section][key] = each.value
    factors = asked["factors"]
    if _RATE[1] in factors:
        asked["load"]["model"] = "open"
    question = f"a plain load on {factors['transport']} by {factors['driver']}"
    data = {"question": question, **asked, "blocks": 1}
    given: dict[FieldPath, str] = {each.at: each.option for each in options}
    name = f"load-{factors['transport']}"
    source = Source(Path(f"{name}.yaml"), name, {}, dump_yaml(data), given)
    return check_scenario(data, source)


def _replace_cell(plan: Plan, cell: Cell) -> Plan:
    return dataclasses.replace(plan, cells=(cell,), blocks=((PlannedCell(1, 0, cell),),))
