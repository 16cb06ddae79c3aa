"""A figure of each cell as a bar from 0, or as a dot on a logarithmic scale: throughput, CPU per request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirebench.report.charts.style import Style
from wirebench.report.numbers import number
from wirebench.web.charts.plot import LogScale, Tick, is_wide

#: The shortest bar that is seen, in per cent.
_LEAST = 0.6


@dataclass(frozen=True, slots=True)
class Bar:
    """A cell's figure in words, where its bar ends or its dot is in per cent, and the gates that failed for it."""

    style: Style
    figure: str
    at: float
    failed_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """What is drawn, in which unit, which way is better, and a bar for each cell in which it was measured.

    `ticks` are the numbers of a logarithmic scale, at per cent of its length; where there are none, bars begin at 0.
    """

    heading: str
    unit: str
    better: str
    ticks: tuple[Tick, ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A cell's figure; None where it was not measured."""

    style: Style
    value: float | None
    failed_gates: tuple[str, ...]


def draw(heading: str, unit: str, better: str, figures: Sequence[Figure]) -> BarChart | None:
    """Lay out the bars, the longest of which fills its row, or dots where figures lie far apart; None without one."""
    measured = [(figure, figure.value) for figure in figures if figure.value is not None and figure.value > 0]
    if not measured:
        return None
    values = [value for _, value in measured]
    scale = LogScale.of(values) if is_wide(values) else None
    greatest = max(values)

    def place(value: float) -> float:
        return round(100 * scale.share(value) if scale else max(100 * value / greatest, _LEAST), 2)

    ticks = (Tick(f"{value:,.6g}", place(value)) for value in (scale.numbers if scale else ()))
    bars = (Bar(each.style, number(value), place(value), each.failed_gates) for each, value in measured)
    return BarChart(heading, unit, better, tuple(ticks), tuple(bars))
