"""Progress of a run: to a listener, and as the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, Self

from wirebench.model.record import Record
from wirebench.plan.plan import Plan

#: What a cell takes besides warm-up and window, in seconds: for the first guess of the time left.
_CELL_OVERHEAD_S = {"local": 0.5, "external": 0.5, "kubernetes": 9.0}


class Progress(Protocol):
    """Receives the progress of a run."""

    def step(self, text: str) -> None:
        """Receive the name of a step that takes a moment, when it begins."""

    def begin_cell(self) -> None:
        """Hear that the load of a cell begins."""

    def end_cell(self, record: Record, done: int, total: int) -> None:
        """Receive a cell's record when it is on disk; `done` of `total` are."""


class NoProgress:
    """Shows nothing."""

    def step(self, text: str) -> None:
        """Do nothing."""

    def begin_cell(self) -> None:
        """Do nothing."""

    def end_cell(self, record: Record, done: int, total: int) -> None:
        """Do nothing."""


class TimeLeft:
    """How long a run will still take: for each cell as long as those that are done took on average.

    The first counts as long as expected: calibration and the first start come once. Blocks to come start services, too.
    """

    def __init__(self, total: int, cell_s: float, clock: Callable[[], float] = time.monotonic, done: int = 0) -> None:
        """Take the number of cells, and how long one takes as far as is known before the first, in seconds.

        `done` of them were measured before, at another pace.
        """
        self._total = total
        self._left = total - done
        self._done_before = done
        self._cell_s = cell_s
        self._clock = clock
        self._started = self._last = clock()

    @classmethod
    def of(cls, plan: Plan, target: str) -> Self:
        """Begin to count for a plan that is about to be carried out on a target of this name."""
        load = plan.scenario.load
        cell_s = load.windows * (load.warmup_s + load.window_s + _CELL_OVERHEAD_S[target])
        return cls(plan.cells_total, cell_s, done=len(plan.done))

    def count_done(self, done: int) -> None:
        self._last = self._clock()
        if self._left == self._total - self._done_before:
            self._started = self._last - self._cell_s * (done - self._done_before)
        self._left = self._total - done
        self._cell_s = (self._last - self._started) / (done - self._done_before)

    def compute_s(self) -> float:
        """Return the time left; a cell that takes longer than others did leaves what those to come will take."""
        left_s = self._left * self._cell_s - (self._clock() - self._last)
        return max(0.0, (self._left - 1) * self._cell_s, left_s)
