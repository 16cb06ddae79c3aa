"""Progress of a run: to a listener, and as the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from wirebench.model.record import Record
from wirebench.model.run_info import RunInfo
from wirebench.plan.plan import Plan
from wirebench.targets.cores import Cores

#: What a cell takes besides warm-up and window, in seconds: for the first guess of the time left.
_CELL_OVERHEAD_S = {"local": 0.5, "external": 0.5, "kubernetes": 9.0}


class Progress:
    """Receives the progress of a run; this one shows nothing."""

    def begin(self, info: RunInfo, folder: Path, cores: Cores | None) -> None:
        """Receive a run whose folder exists, before anything is started; None where the target doesn't know cores."""

    def step(self, text: str) -> None:
        """Receive the name of a step that takes a moment, when it begins."""

    def end_cell(self, record: Record, done: int) -> None:
        """Receive a cell's record when it is on disk, and how many are."""

    def end(self) -> None:
        """Hear that nothing is measured any more, however the run has ended."""


class TimeLeft:
    """How long a run will still take: for each cell as long as those that are done took on average.

    The first counts as long as expected: calibration and the first start come once. Blocks to come start services, too.
    """

    def __init__(self, plan: Plan, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to count for a plan that is about to be carried out."""
        load = plan.scenario.load
        self._total = plan.cells_total
        #: Those were measured at another pace.
        self._done_before = len(plan.done)
        self._left = self._total - self._done_before
        self._cell_s = load.windows * (load.warmup_s + load.window_s + _CELL_OVERHEAD_S[plan.target])
        self._clock = clock
        self._started = self._last = clock()

    def count_done(self, done: int) -> None:
        """Take how many cells are done in all."""
        self._last = self._clock()
        if self._left == self._total - self._done_before:
            self._started = self._last - self._cell_s * (done - self._done_before)
        self._left = self._total - done
        self._cell_s = (self._last - self._started) / (done - self._done_before)

    def compute_s(self) -> float:
        """Return the time left; a cell that takes longer than others did leaves what those to come will take."""
        left_s = self._left * self._cell_s - (self._clock() - self._last)
        return max(0.0, (self._left - 1) * self._cell_s, left_s)
