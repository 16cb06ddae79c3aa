"""Rows of figures on one scale: a bar for each cell."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import WIDTH, Drawing, Point, element, line, mark, text
from wirebench.present.numbers import format_number

#: Below the rows are the scale's numbers.
_AXIS_HEIGHT = 20

_CHARACTER_WIDTH = 6.6
_ARROW_LENGTH, _ARROW_WIDTH = 7, 5
_ROW_HEIGHT, _LINE_HEIGHT, _GAP = 19, 16, 6
_BAR_HEIGHT = 9
#: Names of so many characters stand beside their bars, longer ones above, in lines of so many.
_NAME_BESIDE_MAX, _NAME_ABOVE_MAX, _TITLE_MAX = 14, 50, 52
_NAME_WIDTH, _FIGURE_WIDTH = 96, 52
_TICKS_MAX = 5
#: An interval that is much wider than all figures are great is cut off.
_INTERVAL_MAX = 1.25


@dataclass(frozen=True, slots=True)
class Track:
    """Where a scale lies: from its left to its right end."""

    scale: Scale
    left: float
    right: float

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * self.scale.at(value)

    def draw_axis(self, ticks: Mapping[float, str], bottom: float) -> Iterator[Markup]:
        """Draw a line for each tick, and its label where it doesn't touch the one before."""
        taken = -math.inf
        for value, label in ticks.items():
            half = _CHARACTER_WIDTH * len(label) / 2
            center = min(max(self.x(value), half), WIDTH - half)
            yield line("grid", (self.x(value), 0), (self.x(value), bottom))
            if center - half > taken:
                yield text(center, bottom + 14, label, anchor="middle")
                taken = center + half + _CHARACTER_WIDTH

    def draw_interval(self, ends: Point, y: float, stroke: str) -> Iterator[Markup]:
        """Draw an interval, with an arrow at an end of the scale beyond which it continues."""
        low, high = ends
        yield line("interval", (self.x(low), y), (self.x(high), y), stroke)
        for is_cut, x, length in (
            (low < self.scale.low, self.left, _ARROW_LENGTH),
            (high > self.scale.high, self.right, -_ARROW_LENGTH),
        ):
            if is_cut:
                path = f"M{x:g} {y:g}l{length} {-_ARROW_WIDTH}v{2 * _ARROW_WIDTH}z"
                yield element("path", class_="cut", d=path, fill=stroke)


@dataclass(frozen=True, slots=True)
class Bar:
    """One cell: its figure, those of its blocks, its interval or what they span, and the gates that failed for it."""

    style: Style
    value: float
    blocks: Sequence[float] = ()
    interval: Point | None = None
    failed_gates: Sequence[str] = ()


def draw_bars(title: str, groups: Mapping[str, Sequence[Bar]]) -> Drawing:
    """Draw each group's bars below its title; on a logarithmic scale, marks alone."""
    bars = [bar for group in groups.values() for bar in group]
    figures = [figure for bar in bars for figure in (bar.value, *bar.blocks)]
    most = _INTERVAL_MAX * max(figures, default=0.0)
    on = Scale.of([*figures, *(min(bar.interval[1], most) for bar in bars if bar.interval)])
    is_beside = all(len(bar.style.name) <= _NAME_BESIDE_MAX for bar in bars)
    track = Track(on, _NAME_WIDTH if is_beside else _GAP, WIDTH - _FIGURE_WIDTH)
    rows: list[Markup] = []
    y = 0.0
    for heading, group in groups.items():
        for words in textwrap.wrap(heading, _TITLE_MAX):
            y += _LINE_HEIGHT
            rows.append(text(0, y - 2, words, "title"))
        y += _GAP / 2
        for bar in group:
            lines = [bar.style.name] if is_beside else textwrap.wrap(bar.style.name, _NAME_ABOVE_MAX)
            bottom = y + (0 if is_beside else _LINE_HEIGHT * len(lines)) + _ROW_HEIGHT
            rows.append(element("g", *_draw_bar(bar, lines, track, y + 13, bottom - _ROW_HEIGHT / 2), class_="bar"))
            y = bottom
        y += _GAP
    axis = track.draw_axis(on.ticks(_TICKS_MAX), y)
    return Drawing("bars", title, _describe(groups), (WIDTH, y + _AXIS_HEIGHT), (*axis, *rows))


def _draw_bar(bar: Bar, name: Sequence[str], track: Track, baseline: float, y: float) -> Iterator[Markup]:
    if bar.failed_gates:
        yield element("title", f"failed: {', '.join(bar.failed_gates)}")
    for index, words in enumerate(name):
        failed = element("tspan", " !", class_="failed") if bar.failed_gates and index + 1 == len(name) else Markup()
        yield text(0, baseline + index * _LINE_HEIGHT, Markup("{}{}").format(words, failed), "name")
    yield text(WIDTH, baseline, format_number(bar.value), "value", "end")
    colour = bar.style.colour
    if track.scale.is_log:
        yield line("grid", (track.left, y), (track.right, y))
    else:
        size = {"width": track.x(bar.value) - track.left, "height": _BAR_HEIGHT}
        yield element("rect", class_="area", x=track.left, y=y - _BAR_HEIGHT / 2, fill=colour, **size)
    if bar.interval:
        yield from track.draw_interval(bar.interval, y, colour)
    yield mark(bar.style, track.x(bar.value), y, fit=not bar.failed_gates)
    for block in bar.blocks:
        yield element("circle", class_="block", cx=track.x(block), cy=y, r=1.6)


def _describe(groups: Mapping[str, Sequence[Bar]]) -> str:
    return ". ".join(
        f"{heading}: "
        + "; ".join(
            f"{bar.style.name} {format_number(bar.value)}{', where a gate failed' if bar.failed_gates else ''}"
            for bar in bars
        )
        for heading, bars in groups.items()
    )
