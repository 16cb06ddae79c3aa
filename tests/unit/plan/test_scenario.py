"""Scenario files: what is read, how mistakes are named, and the plan that is made of it."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import get_args

import pytest

from tests.support.scenario_text import GOOD, read
from wirebench.errors import UsageError
from wirebench.model.contract import CLUSTER_DRIVERS, TargetName
from wirebench.model.labels import name_level
from wirebench.plan.load import read_scenario
from wirebench.plan.overrides import parse_assignment
from wirebench.plan.plan import Plan, make_plan
from wirebench.system.paths import SCENARIOS


def plan_everywhere(path: Path) -> dict[TargetName, Plan]:
    """Return the plans of a scenario on all targets that have one."""
    scenario, plans = read_scenario(path), {}
    for target in get_args(TargetName):
        with contextlib.suppress(UsageError):
            plans[target] = make_plan(scenario, 0, target)
    return plans


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_makes_a_plan(path: Path) -> None:
    """A scenario that comes with wirebench can be run."""
    targets = plan_everywhere(path)
    plan = next(iter(targets.values()))
    assert plan.cells
    in_pods = all(cell.driver in CLUSTER_DRIVERS and cell.shape != "capacity" for cell in plan.cells)
    assert in_pods == ("kubernetes" in targets)


def test_ten_thousand_users_are_shared_by_four_generators() -> None:
    """In a cluster, by the option that the scenario's first line names."""
    first_line = (SCENARIOS / "ten-thousand.yaml").read_text("utf-8").splitlines()[0]
    (assignment,) = re.findall(r"--set (\S+)$", first_line)
    plan = make_plan(read_scenario("ten-thousand", overrides=[parse_assignment(assignment)]), 0, "kubernetes")
    assert 4 == plan.scenario.load.generators
    assert [10_000] * 3 == [cell.concurrency for cell in plan.cells]


def test_connections_are_shared_or_one_a_user() -> None:
    """`none` is a level beside numbers, and has a name in comparisons."""
    plan = make_plan(read_scenario("multiplexing"), 0)
    levels = {cell.connections: name_level("connections", cell.factors) for cell in plan.cells}
    assert {None: "one connection a user", 4: "4 connections", 1: "1 connection"} == levels
    assert {None} == {cell.connections for cell in plan.cells if cell.transport == "rest"}


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("examples/*.yaml")), ids=lambda path: path.stem)
def test_every_example_makes_a_plan(path: Path) -> None:
    """It measures the variants of an application file, and compares them."""
    plan = plan_everywhere(path)["local"]
    assert len({cell.variant for cell in plan.cells}) > 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("blocks", "block", "8: block: no such key; did you mean 'blocks'?"),
        ("warmup_s", "zzz", "7: load.zzz: no such key; the keys are model,"),
        ("[1, 16]", '[1, "16"]', "5: factors.concurrency: must be a whole number (it is '16')"),
        ("[1, 16]", "[1, 20000]", "5: factors.concurrency: must be at most 10000 (it is 20000)"),
        ("[1, 16]", "[]", "5: factors.concurrency: needs at least one level"),
        ("{rest: k6,", "{'*': k6,", "6: factors.driver: no transport '*'; levels by transport are for rest, grpc,"),
        ("{rest: k6,", "{rest: wrk,", "6: factors.driver.rest: must be one of wireload, k6, ghz, oha,"),
        ("operation: users.get", "store_connections: [4, 1001]", "4: factors.store_connections: must be at most 1000"),
        ("0.5", "soon", "7: load.warmup_s: must be a number (it is 'soon')"),
        ("window_s: 1", "window_s: .nan", "7: load.window_s: must be a finite number (it is nan)"),
        ("{model: closed, warmup_s: 0.5, window_s: 1}", "5", "7: load: must be a mapping of keys to values"),
        ("rest, grpc", "rset, grpc", "3: factors.transport: must be one of rest, grpc, socket (it is 'rset')"),
        ("Which transport?", "''", "1: question: must not be empty (it is '')"),
        ("Which transport?", "3", "1: question: must be text (it is 3)"),
        ("blocks: 3", "blocks: 3\nblocks: 4", "9: 'blocks' appears twice"),
        ("blocks: 3", "blocks: 3\n\tx: 1", "9: not valid YAML"),
        ("question: Which transport?", "", "2: question: is missing"),
        ("blocks", "[1, 2]", "8: a key must be a word"),
        ("blocks: 3", "x: \x01", "8: not valid YAML: special characters"),
        ("[1, 16]", "1" + "0" * 5000, "5: not valid YAML: this is not a valid int"),
        ("Which transport?", "2026-13-01", "1: not valid YAML: this is not a valid timestamp"),
        ("blocks: 3", "x: " + "[" * 1000, "1: nested too deeply"),
        (GOOD, "", "1: a scenario is a mapping"),
        (GOOD, "question: x\nfactors: 5\n", "2: factors: must be a mapping of keys to values"),
    ],
)
def test_a_mistake_is_named_once_with_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """What is wrong in a file is said in plain words with line and field, and nothing starts."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, GOOD.replace(old, new))
    assert f"{tmp_path}/scenario.yaml:{expected}" == error.value.message[: len(f"{tmp_path}/scenario.yaml:{expected}")]
    assert "" == error.value.details
    assert error.value.hint


def test_every_mistake_is_named(tmp_path: Path) -> None:
    """Several mistakes are told at once, one line each."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, GOOD.replace("[1, 16]", '["a", 0]').replace("blocks: 3", "blocks: 0"))
    lines = [error.value.message, *error.value.details.splitlines()]
    assert ["5", "5", "8"] == [line.split(":")[1] for line in lines]


def test_yaml_that_stands_for_more_than_itself_is_read_at_once(tmp_path: Path) -> None:
    """Aliases that multiply, or that stand within their own anchor, take no time and no memory."""
    multiplied = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30))
    with pytest.raises(UsageError, match=r"scenario\.yaml:9: a0: no such key"):
        read(tmp_path, f"{GOOD}a0: &a0 [x]\n{multiplied}")
    with pytest.raises(UsageError, match=r"scenario\.yaml:9: a: no such key"):
        read(tmp_path, f"{GOOD}a: &a [*a]\n")


def test_a_file_that_is_not_text_is_rejected(tmp_path: Path) -> None:
    """Binary content gives one clear line."""
    path = tmp_path / "scenario.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_scenario(path)


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
