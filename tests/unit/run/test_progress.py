"""How long a run will still take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.scenario_text import read
from wirebench.plan.plan import make_plan
from wirebench.run.progress import TimeLeft


def test_the_time_left_is_that_of_the_cells_to_come(tmp_path: Path) -> None:
    """The first takes as long as expected, those to come as long as the ones before, on average."""
    now_s = 1000.0
    text = "question: x\nfactors: {transport: rest}\nload: {warmup_s: 0.5, window_s: 1}\nblocks: 7\n"
    plan = replace(make_plan(read(tmp_path, text), seed=1), done=frozenset("012"))
    left = TimeLeft(plan, lambda: now_s)
    assert 8.0 == left.compute_s()
    now_s += 1.5
    assert 6.5 == left.compute_s()
    now_s += 1.5
    left.count_done(4)
    assert 6.0 == left.compute_s()
    now_s += 5.0
    left.count_done(5)
    assert 7.0 == left.compute_s()
    now_s += 600.0
    assert 3.5 == left.compute_s(), "a cell that takes long leaves the time of those to come"
    left.count_done(7)
    assert 0.0 == left.compute_s()
