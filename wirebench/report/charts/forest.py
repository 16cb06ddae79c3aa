"""The forest plot of comparisons: each ratio's interval on one log scale around 1; drawn with boxes of the page itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wirebench.stats import Comparison, Ratio

#: The metrics of a comparison that are drawn, and how they are called beside the plot.
LANES = {"throughput": "requests/s", "p99": "p99", "cpu": "CPU/request"}

_TICKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_TICKS_MAX = 5
_LEAST_REACH = 1.5
_ROOM = 1.2


@dataclass(frozen=True, slots=True)
class Tick:
    """A number below the plot; `at` is its place in per cent of the width."""

    label: str
    at: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One ratio with its interval, places in per cent of the width; an interval that is cut off goes on."""

    label: str
    at: float
    low: float | None
    high: float | None
    judged: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """The scale that all comparisons of a page share."""

    low: float
    high: float
    margin: float

    @classmethod
    def of(cls, comparisons: Iterable[Comparison], margin: float) -> Forest:
        """Reach as far as the ratios do; intervals may be much wider, and are cut off."""
        estimates = [ratio.estimate for comparison in comparisons for ratio in _drawn(comparison).values()]
        low, high = min([1 / _LEAST_REACH, *estimates]), max([_LEAST_REACH, *estimates])
        return cls(low / _ROOM, high * _ROOM, margin)

    @property
    def ticks(self) -> Sequence[Tick]:
        """The numbers below the plot: as many as fit, 1 among them."""
        within = [tick for tick in _TICKS if self.low <= tick <= self.high]
        if len(within) > _TICKS_MAX:
            within = [tick for tick in within if math.log10(tick).is_integer()]
        return [Tick(f"{tick:g}×", self._at(tick)) for tick in within]

    @property
    def band(self) -> tuple[float, float]:
        """Where ratios make no difference to the asker: from, to, in per cent."""
        return self._at(1 / (1 + self.margin)), self._at(1 + self.margin)

    def lanes(self, comparison: Comparison) -> Sequence[Lane]:
        """Place the ratios of a comparison."""
        return [
            Lane(LANES[name], self._at(ratio.estimate), *self._ends(ratio), judged=name == comparison.metric.name)
            for name, ratio in _drawn(comparison).items()
        ]

    def _ends(self, ratio: Ratio) -> tuple[float, float] | tuple[None, None]:
        if ratio.low is None or ratio.high is None:
            return None, None
        return self._at(ratio.low), self._at(ratio.high)

    def _at(self, ratio: float) -> float:
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return round(100 * min(max(share, 0), 1), 2)


def _drawn(comparison: Comparison) -> dict[str, Ratio]:
    return {name: comparison.ratios[name] for name in LANES if name in comparison.ratios}
