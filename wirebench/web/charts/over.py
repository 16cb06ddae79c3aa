"""A figure over a factor whose levels are numbers: a line for each cell that differs in nothing else."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from wirebench.report.charts.style import Style
from wirebench.report.numbers import number
from wirebench.web.charts.plot import Plot, Series, lay_out, scale_of


@dataclass(frozen=True, slots=True)
class Levels:
    """Cells' figures by their level, None where one was not measured; `unfit` are those for which a gate failed."""

    style: Style
    figures: Mapping[float, float | None]
    unfit: Collection[float] = ()


def draw(heading: str, unit: str, better: str, factor: str, series: Sequence[Levels]) -> Plot | None:
    """Lay out the series, by levels whose distances are those of their ratios; None where nothing was measured.

    `factor` is what the levels are of, in words.
    """
    scale = scale_of(value for each in series for value in each.figures.values())
    if scale is None:
        return None
    places = _places(sorted({level for each in series for level in each.figures}))
    placed = [
        Series(
            each.style,
            {_label(level): value for level, value in each.figures.items()},
            unfit=set(map(_label, each.unfit)),
        )
        for each in series
    ]
    columns, lines = lay_out(placed, places, scale)
    told = (f"{each.style.name} {_in_words(each)}" for each in series)
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


def _in_words(of: Levels) -> str:
    measured = [level for level in sorted(of.figures) if of.figures[level]]
    ends = dict.fromkeys((measured[0], measured[-1])) if measured else ()
    told = (
        f"{number(of.figures[level])} at {_label(level)}{', where a gate failed' if level in of.unfit else ''}"
        for level in ends
    )
    return ", ".join(told) or "not measured"
