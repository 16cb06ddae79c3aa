"""The forest plot: each comparison's ratios and their intervals on one log scale, drawn with boxes of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wirebench.stats import Pair

#: The metrics of a comparison that are drawn, and how they are called beside the plot.
LANES = {
    "throughput": "requests/s",
    "p99": "p99",
    "cpu": "CPU/request",
    "item_rate": "items/s",
    "first_item": "first item",
    "item_cpu": "CPU/item",
}

#: The same of two drivers of one cell: the server's CPU is no reading of theirs.
INSTRUMENT_LANES = {"throughput": "requests/s", "p50": "p50", "p99": "p99"}

#: The numbers below the plot, by how far apart its ends lie at most: so many that they fit side by side on a phone.
_TICKS: dict[float, Sequence[float]] = {
    5: (0.6, 0.8, 1, 1.25, 1.6),
    30: (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20),
    300: (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100),
    math.inf: (0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10_000),
}
_LEAST_REACH = 1.5
_ROOM = 1.2


@dataclass(frozen=True, slots=True)
class Tick:
    """A number below the plot; `at` is its place in per cent of the width."""

    label: str
    at: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One ratio with its interval: places in per cent of the width.

    `cut_low` and `cut_high` are whether the interval goes on beyond an edge, at which it then ends. `judged` is whether
    the verdict is on it; `fit`, whether all gates passed that it depends on.
    """

    label: str
    at: float
    low: float | None
    high: float | None
    cut_low: bool
    cut_high: bool
    judged: bool
    fit: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """The scale that all comparisons of a page share."""

    low: float
    high: float
    margin: float
    labels: Mapping[str, str]

    @classmethod
    def of(cls, comparisons: Iterable[Pair], margin: float, labels: Mapping[str, str] = LANES) -> Forest:
        """Reach as far as the ratios do; intervals may be much wider, and are cut off.

        `labels` has the metrics that are drawn, and how they are called.
        """
        estimates = [ratio.estimate for each in comparisons for name, ratio in each.ratios.items() if name in labels]
        low, high = min([1 / _LEAST_REACH, *estimates]), max([_LEAST_REACH, *estimates])
        return cls(low / _ROOM, high * _ROOM, margin, labels)

    @property
    def ticks(self) -> Sequence[Tick]:
        """The numbers below the plot: as many as fit, 1 among them."""
        ticks = next(ticks for span, ticks in _TICKS.items() if self.high / self.low <= span)
        return [Tick(f"{tick:g}×", self._at(tick)) for tick in ticks if self.low <= tick <= self.high]

    @property
    def band(self) -> tuple[float, float]:
        """Where ratios make no difference to the asker: from, to, in per cent."""
        return self._at(1 / (1 + self.margin)), self._at(1 + self.margin)

    def lanes(self, comparison: Pair) -> Sequence[Lane]:
        """Place the ratios of a comparison."""
        return [
            Lane(
                label=label,
                at=self._at(ratio.estimate),
                low=None if ratio.low is None else self._at(ratio.low),
                high=None if ratio.high is None else self._at(ratio.high),
                cut_low=ratio.low is not None and ratio.low < self.low,
                cut_high=ratio.high is not None and ratio.high > self.high,
                judged=name == comparison.metric.name,
                fit=not comparison.unfit(name),
            )
            for name, label in self.labels.items()
            if (ratio := comparison.ratios.get(name))
        ]

    def _at(self, ratio: float) -> float:
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return round(100 * min(max(share, 0), 1), 2)
