"""Links: what may be asked for, what the proxy is told, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scenario_text import GOOD, read, reject
from wirebench.measure.proxy import build_netem
from wirebench.model.cell import Cell
from wirebench.plan.plan import make_plan


def planned(folder: Path, network: str, more: str = "") -> tuple[Cell, ...]:
    """Return the cells of a scenario with this network."""
    return make_plan(read(folder, GOOD.replace("operation: users.get", network) + more), seed=1).cells


def test_what_is_compared_takes_the_same_way(tmp_path: Path) -> None:
    """Where only a loss is asked for, the load without one goes through the proxy all the same."""
    cells = planned(tmp_path, "loss_percent: [none, 1]", "compare: loss_percent\n")
    assert {(0, None), (0, 1)} == {(each.delay_ms, each.loss_percent) for each in cells}


def test_what_is_delayed_is_not_dropped() -> None:
    """By itself the kernel keeps 1,000 packets that wait."""
    for way in build_netem(100, loss_percent=1):
        assert "limit" == way[0]
        assert int(way[1]) > 100_000


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("delay_ms: -1", "delay_ms: must be at least 0 (it is -1)"),
        ("delay_ms: 3600000", "delay_ms: must be at most 5000 (it is 3600000)"),
        ("delay: 5", "delay: no such key: there are delay_ms"),
    ],
)
def test_a_network_that_can_not_be_is_rejected(tmp_path: Path, network: str, expected: str) -> None:
    """With line and reason, before anything starts."""
    reject(tmp_path, GOOD.replace("operation: users.get", network), f"4: factors.{expected}")
