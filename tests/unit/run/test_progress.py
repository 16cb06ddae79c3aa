"""How long a run will still take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.scenario_text import read
from wirebench.plan.plan import make_plan
from wirebench.run.progress import TimeLeft


class Clock:
    """A clock that is set by hand, in seconds."""

    now_s = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def count(folder: Path, clock: Clock, blocks: int, done: int = 0) -> TimeLeft:
    """Begin to count for one cell of two seconds, in so many blocks of which some are done."""
    text = f"question: x\nfactors: {{transport: rest}}\nload: {{warmup_s: 0.5, window_s: 1}}\nblocks: {blocks}\n"
    plan = make_plan(read(folder, text), seed=1)
    return TimeLeft(replace(plan, done=frozenset(map(str, range(done)))), clock)


def test_the_time_left_is_that_of_the_cells_to_come(tmp_path: Path) -> None:
    """The first takes as long as expected, those to come as long as the ones before, on average."""
    clock = Clock()
    left = count(tmp_path, clock, 7, done=3)
    assert 8.0 == left.compute_s()
    clock.now_s += 1.5
    assert 6.5 == left.compute_s()
    clock.now_s += 1.5
    left.count_done(4)
    assert 6.0 == left.compute_s()
    clock.now_s += 5.0
    left.count_done(5)
    assert 7.0 == left.compute_s()


def test_a_cell_that_takes_long_leaves_the_time_of_those_to_come(tmp_path: Path) -> None:
    """The time left never falls below it, nor below nothing."""
    clock = Clock()
    left = count(tmp_path, clock, 2)
    clock.now_s += 60.0
    assert 2.0 == left.compute_s()
    left.count_done(1)
    clock.now_s += 600.0
    assert 0.0 == left.compute_s()
    left.count_done(2)
    assert 0.0 == left.compute_s()
