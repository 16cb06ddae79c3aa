"""Figures with their intervals as strips of text, below each other on one scale: a plot for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from wirebench.analysis.ratio import Ratio
from wirebench.present.numbers import format_number

_WIDTH = 30
#: A scale is at least so wide, as a share of its greatest figure: differences smaller than that look small.
_SPAN_MIN = 0.2


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    """The scale that all strips of a table share."""

    low: float
    high: float

    @classmethod
    def of(cls, figures: Sequence[Ratio]) -> Self:
        """Reach as far as the figures and their intervals do; all are positive, and there is at least one."""
        ends = [end for figure in figures for end in (figure.estimate, figure.low, figure.high) if end is not None]
        low, high = min(ends), max(ends)
        return cls(min(low, high * (1 - _SPAN_MIN)), high)

    @property
    def heading(self) -> str:
        low, high = format_number(self.low), format_number(self.high)
        return f"{low}{high:>{max(_WIDTH - len(low), len(high) + 1)}}"

    def draw(self, figure: Ratio, *, fit: bool) -> str:
        """Draw a figure as a dot, hollow if it isn't fit to be used, and its interval as a line."""
        cells = [" "] * _WIDTH
        if figure.interval:
            first, last = map(self._at, figure.interval)
            cells[first : last + 1] = "─" * (last + 1 - first)
        cells[self._at(figure.estimate)] = "●" if fit else "○"
        return "".join(cells).rstrip()

    def _at(self, value: float) -> int:
        return round((value - self.low) / (self.high - self.low) * (_WIDTH - 1))
