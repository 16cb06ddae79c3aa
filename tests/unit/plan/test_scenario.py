"""Scenario files: the shipped ones, what is read of others, and the plan that is made of it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import get_args

import pytest

from tests.support.scenario_text import GOOD, read
from wirebench.errors import UsageError
from wirebench.model.contract import CLUSTER_DRIVERS, TargetName
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan, make_plan
from wirebench.system.paths import SCENARIOS


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("**/*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_makes_a_plan(path: Path) -> None:
    """A scenario that comes with wirebench can be run, in a cluster too unless it needs what that lacks."""
    scenario, plans = read_scenario(path), dict[TargetName, Plan]()
    for target in get_args(TargetName):
        with contextlib.suppress(UsageError):
            plans[target] = make_plan(scenario, 0, target)
    cells = next(iter(plans.values())).cells
    assert len({cell.factors[scenario.compare] for cell in cells}) > 1
    in_pods = all(cell.driver in CLUSTER_DRIVERS and cell.store != "postgres" for cell in cells)
    assert (in_pods and not scenario.variants) == ("kubernetes" in plans)


def test_every_block_holds_every_cell_once_in_its_own_order(tmp_path: Path) -> None:
    """Blocks repeat all cells, in a new order, which the same seed repeats, and another doesn't."""
    scenario = read(tmp_path, GOOD)
    plan = make_plan(scenario, seed=7)
    assert plan.blocks == make_plan(scenario, seed=7).blocks
    assert plan.blocks != make_plan(scenario, seed=8).blocks
    assert 3 == len(plan.blocks)
    for block in plan.blocks:
        assert set(plan.cells) == {planned.cell for planned in block}
        assert list(range(len(plan.cells))) == [planned.order for planned in block]
    assert len({tuple(planned.cell for planned in block) for block in plan.blocks}) > 1
