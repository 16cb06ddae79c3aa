"""Scenario files: what is read, and how mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.places import SCENARIOS
from wirebench.scenario import Scenario, make_plan, read_scenario

GOOD = """\
question: Which transport?
factors:
  transport: [rest, grpc, socket]
  operation: users.get
  concurrency: [1, 16]
  driver: {rest: k6, grpc: [k6, ghz], socket: k6}
load: {model: closed, warmup_s: 0.5, window_s: 1}
blocks: 3
"""


def read(tmp_path: Path, text: str) -> Scenario:
    """Read a scenario of this text."""
    path = tmp_path / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return read_scenario(path)


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_scenario_makes_a_plan(path: Path) -> None:
    """A scenario that comes with wirebench can be run."""
    assert make_plan(read_scenario(path), seed=1).cells


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (GOOD.replace("blocks", "block"), "scenario.yaml:8: block: no such key; did you mean 'blocks'?"),
        (GOOD.replace("[1, 16]", '[1, "16"]'), "scenario.yaml:5: factors.concurrency: input should be a valid integer"),
        (GOOD.replace("[1, 16]", "[1, 0]"), "scenario.yaml:5: factors.concurrency: input should be greater than"),
        (GOOD.replace("[1, 16]", "[]"), "scenario.yaml:5: factors.concurrency"),
        (GOOD.replace("0.5", "soon"), "scenario.yaml:7: load.warmup_s: input should be a valid number"),
        (GOOD.replace("rest, grpc", "rset, grpc"), "scenario.yaml:3: factors.transport: input should be 'rest'"),
        (GOOD.replace("closed", "open"), "scenario.yaml:1: an open load needs a rate: add factors.rate_per_s"),
        (GOOD + "blocks: 4\n", "scenario.yaml:9: 'blocks' stands twice"),
        (GOOD + "\tx: 1\n", "scenario.yaml:9: not valid YAML"),
        (GOOD.replace("question: Which transport?", ""), "scenario.yaml:2: question: is missing"),
        ("", "scenario.yaml:1: a scenario is a mapping"),
        ("- 1\n", "scenario.yaml:1: a scenario is a mapping"),
        ("a: &a [*a]\n", "scenario.yaml: not valid YAML"),
        (GOOD.replace("blocks", "[1, 2]"), "scenario.yaml:8: a key must be a word"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, broken: str, expected: str) -> None:
    """What is wrong in a file is said with line and field, and nothing starts."""
    with pytest.raises(UsageError) as error:
        read(tmp_path, broken)
    assert expected in error.value.message
    assert error.value.hint


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """Binary content gives one clear line."""
    path = tmp_path / "scenario.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_scenario(path)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("driver: {rest: k6,", "driver: {rest: ghz,", "rest has no driver 'ghz'"),
        ("operation: users.get", "runtime: aio", "rest has no runtime 'aio'"),
        ("operation: users.get", "codec: protobuf", "rest has no codec 'protobuf'"),
        ("operation: users.get", "threads: 4", "the runtime 'asyncio' has no thread pool"),
        ("operation: users.get", "workers: 2\n  operation: users.create", "its answers would be wrong"),
        ("operation: users.get", "connection: reopen", "ghz keeps its connections"),
        ("[1, 16]", "[1, 1]", "a level stands twice"),
    ],
)
def test_an_impossible_combination_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    """A plan that can't give right answers is refused before anything starts, with what to do instead."""
    scenario = read(tmp_path, GOOD.replace(old, new))
    with pytest.raises(UsageError) as error:
        make_plan(scenario, seed=1)
    assert expected in error.value.message
    assert error.value.hint


def test_workers_may_write_to_a_store_that_they_share(tmp_path: Path) -> None:
    """The refusal is of writing to each worker's own memory, not of writing with several workers."""
    text = GOOD.replace("operation: users.get", "operation: users.create\n  workers: 2\n  store: sqlite")
    assert {2} == {cell.workers for cell in make_plan(read(tmp_path, text), seed=1).cells}


def test_levels_by_transport_apply_to_that_transport(tmp_path: Path) -> None:
    """A factor written as a mapping varies for the transports it names."""
    plan = make_plan(read(tmp_path, GOOD), seed=1)
    drivers = {(cell.transport, cell.driver) for cell in plan.cells}
    assert {("rest", "k6"), ("grpc", "k6"), ("grpc", "ghz"), ("socket", "k6")} == drivers


def test_every_block_holds_every_cell_once_in_its_own_order(tmp_path: Path) -> None:
    """Blocks repeat all cells, shuffled anew."""
    plan = make_plan(read(tmp_path, GOOD), seed=7)
    assert 3 == len(plan.blocks)
    for block in plan.blocks:
        assert set(plan.cells) == {planned.cell for planned in block}
        assert list(range(len(plan.cells))) == [planned.order for planned in block]
    assert len({tuple(planned.cell for planned in block) for block in plan.blocks}) > 1


def test_a_seed_repeats_the_order(tmp_path: Path) -> None:
    """The same seed gives the same plan, another seed another order."""
    scenario = read(tmp_path, GOOD)
    assert make_plan(scenario, seed=7).blocks == make_plan(scenario, seed=7).blocks
    assert make_plan(scenario, seed=7).blocks != make_plan(scenario, seed=8).blocks
