"""A figure over the number of connections: a line for each cell that differs in nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from wirebench.report.charts.style import Style
from wirebench.report.numbers import number
from wirebench.web.charts.plot import LinearScale, LogScale, Plot, lay_out

#: Fewer levels make no line.
LEVELS_MIN = 3

#: A cell's figures by its level; None where one was not measured.
Levels = Mapping[int, float | None]


def draw(
    heading: str, unit: str, better: str, series: Sequence[tuple[Style, Levels]], *, is_log: bool = False
) -> Plot | None:
    """Lay out the series, by levels whose distances are those of their ratios; None where nothing was measured."""
    scale = (LogScale if is_log else LinearScale).of(value for _, levels in series for value in levels.values())
    if scale is None:
        return None
    levels = sorted({level for _, of_cell in series for level in of_cell})
    first, last = math.log(levels[0]), math.log(levels[-1])
    places = {str(level): (math.log(level) - first) / (last - first) for level in levels}
    figures = [(style, {str(level): value for level, value in of_cell.items()}) for style, of_cell in series]
    columns, lines = lay_out(figures, places, scale)
    told = (f"{style.name} {_in_words(of_cell)}" for style, of_cell in series)
    description = f"{heading} over connections: {'; '.join(told)}"
    return Plot(heading, f"{unit}, {better} is better", description, scale.ticks, columns, lines)


def _in_words(levels: Levels) -> str:
    measured = [level for level in sorted(levels) if levels[level]]
    ends = dict.fromkeys((measured[0], measured[-1])) if measured else ()
    return ", ".join(f"{number(levels[level])} at {level}" for level in ends) or "not measured"
