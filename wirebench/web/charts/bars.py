"""A figure of each cell as a bar from 0: throughput, CPU per request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirebench.report.charts.style import Style
from wirebench.report.numbers import number

#: The shortest bar that is seen, in per cent.
_LEAST = 0.6


@dataclass(frozen=True, slots=True)
class Bar:
    """A cell's figure in words, how long its bar is in per cent, and the gates that failed for the cell."""

    style: Style
    figure: str
    length: float
    failed_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """What is drawn, in which unit, which way is better, and a bar for each cell in which it was measured."""

    heading: str
    unit: str
    better: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell's figure; None where it was not measured."""

    style: Style
    value: float | None
    failed_gates: tuple[str, ...]


def draw(heading: str, unit: str, better: str, figures: Sequence[Figure]) -> BarChart | None:
    """Lay out the bars, the longest of which fills its row; None if nothing was measured."""
    measured = [(figure, figure.value) for figure in figures if figure.value is not None and figure.value > 0]
    if not measured:
        return None
    greatest = max(value for _, value in measured)
    bars = (
        Bar(each.style, number(value), round(max(100 * value / greatest, _LEAST), 2), each.failed_gates)
        for each, value in measured
    )
    return BarChart(heading, unit, better, tuple(bars))
