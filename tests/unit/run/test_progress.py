"""How long a run will still take."""

from __future__ import annotations

from wirebench.run.progress import TimeLeft


class Clock:
    """A clock that is set by hand, in seconds."""

    now_s = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


def test_the_time_left_is_that_of_the_cells_to_come() -> None:
    """The first takes as long as expected, those to come as long as the ones before, on average."""
    clock = Clock()
    left = TimeLeft(7, 2.0, clock, done=3)
    assert 8.0 == left.compute_s()
    clock.now_s += 1.5
    assert 6.5 == left.compute_s()
    clock.now_s += 1.5
    left.count_done(4)
    assert 6.0 == left.compute_s()
    clock.now_s += 5.0
    left.count_done(5)
    assert 7.0 == left.compute_s()


def test_a_cell_that_takes_long_leaves_the_time_of_those_to_come() -> None:
    """The time left never falls below it, nor below nothing."""
    clock = Clock()
    left = TimeLeft(2, 2.0, clock)
    clock.now_s += 60.0
    assert 2.0 == left.compute_s()
    left.count_done(1)
    clock.now_s += 600.0
    assert 0.0 == left.compute_s()
    left.count_done(2)
    assert 0.0 == left.compute_s()
