"""What a run has told of itself in the last two minutes, over time: a line for each of its cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from wirebench.report.numbers import number
from wirebench.store.progress import HISTORY_MAX, Point
from wirebench.web.charts.plot import Tick

#: The size of the drawing and its margins, in the SVG's units.
WIDTH, HEIGHT = 360, 120
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 12, 22

#: Less is nothing, to whoever looks, and to numbers that have so many digits.
_LEAST = 1e-9
_SPAN_S = float(HISTORY_MAX)
_INNER_WIDTH = WIDTH - LEFT - RIGHT
_INNER_HEIGHT = HEIGHT - TOP - BOTTOM


@dataclass(frozen=True, slots=True)
class LiveChart:
    """A drawing; `description` says it to those who don't see it.

    `lines` are the points of SVG polylines, and `dots` where a cell has one point alone.
    """

    heading: str
    unit: str
    description: str
    ticks: tuple[Tick, ...]
    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]


def draw(
    heading: str, unit: str, history: Sequence[Point], of: Callable[[Point], float | None], now: datetime
) -> LiveChart:
    """Lay out one figure of the points of the last two minutes; the scale begins at 0."""
    points = [
        (point.cell, age_s, value)
        for point in history
        if (age_s := (now - point.at).total_seconds()) <= _SPAN_S and (value := of(point)) is not None
    ]
    values = [value for _, _, value in points]
    top = _round_up(max(values, default=1.0))
    lines = [
        [_place(age_s, value / top) for _, age_s, value in cell]
        for _, cell in itertools.groupby(points, key=lambda point: point[0])
    ]
    return LiveChart(
        heading=heading,
        unit=unit,
        description=f"{heading} in the last two minutes: {_in_words(values, unit)}",
        ticks=tuple(Tick(f"{value:,.6g}", _place(0, value / top)[1]) for value in (top, top / 2, 0.0)),
        lines=tuple(" ".join(f"{x},{y}" for x, y in line) for line in lines if len(line) > 1),
        dots=tuple(line[0] for line in lines if len(line) == 1),
    )


def _place(age_s: float, share: float) -> tuple[float, float]:
    x = LEFT + _INNER_WIDTH * (1 - max(age_s, 0.0) / _SPAN_S)
    return round(x, 1), round(TOP + _INNER_HEIGHT * (1 - share), 1)


def _round_up(value: float) -> float:
    """Return the next number that is a 1, 2 or 5 followed by zeros, or 1 where there is nothing to show."""
    if value < _LEAST:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(value))
    return next(digit * decade for digit in (1, 2, 5, 10) if digit * decade >= value)


def _in_words(values: Sequence[float], unit: str) -> str:
    if not values:
        return "nothing yet"
    return f"{number(min(values))} to {number(max(values))} {unit}, at last {number(values[-1])}"
