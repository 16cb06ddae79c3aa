"""A service in numbers: windows of a search for its capacity, without any load."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wirebench.measure.search import choose_first_rate, choose_rate, find_bounds
from wirebench.model.record import CapacitySearch, SearchWindow
from wirebench.model.scenario import Load


class SimulatedService:
    """A queue with one server and times that are exponentially distributed (M/M/1), in windows of a few seconds.

    Its p99 response time, ln(100) / (μ - λ), is multiplied with noise: half of the windows at `capacity_per_s` keep an
    objective of 50 ms. In `disturbed` of the windows something else takes 100 ms.
    """

    def __init__(self, capacity_per_s: float, seed: int, noise: float = 0.1, disturbed: float = 0.0) -> None:
        self.p99_ms = 50.0
        self._served_per_s = capacity_per_s + math.log(100) / (self.p99_ms / 1000)
        self._random = np.random.default_rng(seed)
        self._noise, self._disturbed = noise, disturbed

    def answer(self, rate_per_s: int) -> SearchWindow:
        """Return what a window at a rate comes to."""
        spare_per_s = self._served_per_s - rate_per_s
        p99_ms = 1000 * math.log(100) / spare_per_s if spare_per_s > 0 else 10_000.0
        p99_ms *= self._random.lognormal(0, self._noise)
        if self._random.random() < self._disturbed:
            p99_ms += 100
        return SearchWindow(
            rate_asked_per_s=rate_per_s,
            rate_achieved_per_s=min(rate_per_s, self._served_per_s),
            requests=rate_per_s,
            failed=0,
            p50_ms=None,
            p99_ms=p99_ms,
            kept=p99_ms <= self.p99_ms,
        )

    def search(self, load: Load, closed_rate_per_s: float | None, seed: str) -> list[SearchWindow]:
        """Return the windows of a search."""
        first, windows = choose_first_rate(load, closed_rate_per_s, seed), list[SearchWindow]()
        while len(windows) < load.windows_max and (rate := choose_rate(windows, first, load.resolution)):
            windows.append(self.answer(rate))
        return windows


def make_search(windows: Sequence[SearchWindow], resolution: float = 0.03) -> CapacitySearch:
    """Return what windows come to."""
    kept, missed = find_bounds(windows)
    return CapacitySearch(
        p99_ms=50,
        error_share=0.001,
        resolution=resolution,
        closed_rate_per_s=None,
        rate_kept_per_s=kept,
        rate_missed_per_s=missed,
        windows=tuple(windows),
    )
