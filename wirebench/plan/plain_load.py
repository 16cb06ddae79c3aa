"""A plain load: a scenario of one cell and one block, which options override."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

from wirebench.errors import UsageError
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.contract import SEED_MAX, TargetName, Transport
from wirebench.model.scenario import Scenario
from wirebench.model.source import Source, dump_yaml
from wirebench.plan.load import check_scenario
from wirebench.plan.overrides import Override
from wirebench.plan.plan import Plan, PlannedCell, make_plan

_OPERATION, _RATE = ("factors", "operation"), ("factors", "rate_per_s")
_DRIVERS = {"rest": "k6", "grpc": "ghz", "socket": "wireload"}


def plan_load(transport: Transport, options: Sequence[Override], target: TargetName) -> Plan:
    """Return the plan of one window, with a random seed. Raises UsageError, which names the option."""
    scenario = _check_scenario(transport, options)
    if target == "kubernetes":
        _check_operation(scenario)
    # ghz keeps a rate, but no scenario takes it: there is no response time.
    unrated = [each for each in options if each.at != _RATE]
    is_ghz = set(scenario.factors.driver.values()) == {("ghz",)}
    planned = _check_scenario(transport, unrated) if is_ghz else scenario
    plan = make_plan(planned, random.SystemRandom().randrange(SEED_MAX), target)
    if plan.cells_total != 1:
        hint = "give one value to each option; `wirebench run` measures several"
        raise UsageError(f"a load is one window, and these options make {plan.cells_total}", hint)
    (cell,) = plan.cells
    rate = next((each.value for each in options if each.at == _RATE), None)
    # From anywhere, unless it is asked for.
    placement = cell.placement if scenario.factors.placement else None
    cell = dataclasses.replace(cell, rate_per_s=rate, placement=placement)
    named = scenario.model_copy(update={"question": f"{scenario.question} by {cell.driver}"})
    return _replace_cell(dataclasses.replace(plan, scenario=named), cell)


def adopt_service(plan: Plan, service: ServiceSpec) -> Plan:
    """Return the plan of a load on a service as it is."""
    (cell,) = plan.cells
    return _replace_cell(plan, dataclasses.replace(cell, **dataclasses.asdict(service) | {"placement": cell.placement}))


def _check_operation(scenario: Scenario) -> None:
    """Reject what writes: services that stay have ids of other loads; `wirebench run` starts fresh ones."""
    operations = scenario.application.operations
    reading = [name for name, each in operations.items() if not (each.writes or each.stream)]
    if any(set(levels) - set(reading) for levels in scenario.factors.operation.values()):
        hint = f"choose from {', '.join(reading)}; `wirebench run` measures what writes or is a stream, too"
        raise UsageError(f"{scenario.source.locate(_OPERATION)}: no operation of a load", hint)


def _check_scenario(transport: Transport, options: Sequence[Override]) -> Scenario:
    name = f"load-{transport}"
    factors = {"transport": transport, "driver": _DRIVERS[transport], "operation": "users.get", "concurrency": 8}
    load = {"warmup_s": 1, "window_s": 30.0}
    data = {"question": f"a plain load on {transport}", "factors": factors, "load": load, "blocks": 1}
    source = Source(Path(f"{name}.yaml"), name, {}, dump_yaml(data))
    return check_scenario(data, source, overrides=options)


def _replace_cell(plan: Plan, cell: Cell) -> Plan:
    return dataclasses.replace(plan, cells=(cell,), blocks=((PlannedCell(1, 0, cell),),))
