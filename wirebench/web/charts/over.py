"""A figure over a factor whose levels are numbers: a line for each cell that differs in nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wirebench.report.charts.style import Style
from wirebench.report.numbers import number
from wirebench.web.charts.plot import Plot, lay_out, scale_of

#: A cell's figures by its level; None where one was not measured.
Levels = Mapping[float, float | None]


def draw(heading: str, unit: str, better: str, factor: str, series: Sequence[tuple[Style, Levels]]) -> Plot | None:
    """Lay out the series, by levels whose distances are those of their ratios; None where nothing was measured.

    `factor` is what the levels are of, in words.
    """
    scale = scale_of(value for _, levels in series for value in levels.values())
    if scale is None:
        return None
    places = _places(sorted({level for _, of_cell in series for level in of_cell}))
    figures = [(style, {_label(level): value for level, value in of_cell.items()}) for style, of_cell in series]
    columns, lines = lay_out(figures, places, scale)
    told = (f"{style.name} {_in_words(of_cell)}" for style, of_cell in series)
    description = f"{heading} over {factor}: {'; '.join(told)}"
    return Plot(heading, f"{unit}, {better} is better", description, scale.ticks, columns, lines)


def _places(levels: Sequence[float]) -> dict[str, float]:
    """Place the levels, the least first, of which there are two at least; 0 is as far from the next as a half is."""
    least = next(level for level in levels if level > 0)
    doublings = [math.log2(level / least) if level > 0 else -1.0 for level in levels]
    first, last = doublings[0], doublings[-1]
    return {_label(level): (at - first) / (last - first) for level, at in zip(levels, doublings, strict=True)}


def _label(level: float) -> str:
    return f"{level:.12g}"


def _in_words(levels: Levels) -> str:
    measured = [level for level in sorted(levels) if levels[level]]
    ends = dict.fromkeys((measured[0], measured[-1])) if measured else ()
    return ", ".join(f"{number(levels[level])} at {_label(level)}" for level in ends) or "not measured"
