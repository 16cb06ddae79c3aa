"""A plot: a line for each series through its figures at some places, which pointing at a place shows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wirebench.report.charts.style import LINEAR_SPREAD_MAX, Style
from wirebench.report.numbers import number

#: The size of the drawing and its margins, in the SVG's units.
WIDTH, HEIGHT = 360, 232
LEFT, RIGHT, TOP, BOTTOM = 44, 18, 14, 26

_INNER_HEIGHT = HEIGHT - TOP - BOTTOM
#: What two figures written below each other need, and how far a figure stands from its mark.
_LINE_HEIGHT = 13
_FIGURE_GAP = 8
#: Nearer to the right end than this, figures are written to the left of their marks: they'd leave the drawing.
_FIGURE_ROOM = 48
#: The least that a logarithmic scale holds, as a ratio: figures that are nearly the same look it.
_RATIO_MIN = 4.0
#: Its numbers in a decade, by how many decades there are at most.
_DIGITS: Mapping[float, Sequence[int]] = {1.8: (1, 2, 5), 3.2: (1, 3), math.inf: (1,)}
#: The steps between numbers of a linear scale, of which there are so many at most.
_STEPS = (1, 2, 2.5, 5, 10)
_LINEAR_TICKS_MAX = 6
#: What a scale that doesn't begin at 0 has beyond its figures, as a share of it.
_ROOM = 0.1


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing's width, what its outer places keep from its ends, and how far labels below it are apart at least."""

    width: int = WIDTH
    inset: int = 8
    labels_apart: int = 26


_NARROW = Frame()

#: A series' figures by place; None where one was not measured.
Figures = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """What a line goes through; `unfit` are the places at which a gate failed: no verdict may be built on these."""

    style: Style
    figures: Figures
    unfit: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """A number beside the drawing."""

    label: str
    at: float


class Scale(Protocol):
    """Where a figure is drawn, from the top, and the numbers beside the drawing."""

    @property
    def ticks(self) -> tuple[Tick, ...]: ...  # noqa: D102 - as the class says

    def y(self, value: float) -> float: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class LogScale:
    """Equal ratios are equal distances."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> LogScale | None:
        """Return the scale that holds all of these; None if there is none that is positive."""
        positive = [value for value in values if value and value > 0]
        if not positive:
            return None
        low, high = min(positive) / 1.25, max(positive) * 1.25
        widen = math.sqrt(max(_RATIO_MIN / (high / low), 1))
        return cls(low / widen, high * widen)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The numbers beside the drawing."""
        return tuple(Tick(f"{value:,.6g}", self.y(value)) for value in self.numbers)

    @property
    def numbers(self) -> tuple[float, ...]:
        """So many numbers of each decade that they have room."""
        decades = math.log10(self.high / self.low)
        digits = next(digits for limit, digits in _DIGITS.items() if decades <= limit)
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        values = [digit * 10.0**exponent for exponent in exponents for digit in digits]
        return tuple(value for value in values if self.low <= value <= self.high)

    def share(self, value: float) -> float:
        """Return how far from the low end, of the whole length, a positive figure lies."""
        return math.log(value / self.low) / math.log(self.high / self.low)

    def y(self, value: float) -> float:
        """Place a positive figure."""
        return _from_top(self.share(value))


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Equal differences are equal distances."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> LinearScale | None:
        """Return the scale from 0 on that holds all of these; None if there is none that is positive."""
        high = max((value for value in values if value and value > 0), default=0.0)
        return cls(0.0, 1.06 * high) if high else None

    @classmethod
    def around(cls, values: Sequence[float]) -> LinearScale:
        """Return the scale that shows how these differ, of which there is at least one: it needn't begin at 0."""
        low, high = min(values), max(values)
        room = _ROOM * max(high - low, _ROOM * high)
        return cls(max(low - room, 0.0), high + room)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round numbers at equal distances."""
        reach = self.high - self.low
        decade = 10.0 ** math.floor(math.log10(reach / _LINEAR_TICKS_MAX))
        step = next(step * decade for step in _STEPS if step * decade * _LINEAR_TICKS_MAX >= reach)
        steps = range(math.ceil(self.low / step), math.floor(self.high / step) + 1)
        return tuple(Tick(f"{index * step:,.6g}", self.y(index * step)) for index in steps)

    def y(self, value: float) -> float:
        """Place a figure."""
        return _from_top((value - self.low) / (self.high - self.low))


@dataclass(frozen=True, slots=True)
class Mark:
    """A series' figure at a place; written at `label_y`, where it meets no other. What isn't fit is hollow."""

    style: Style
    figure: str
    y: float
    label_y: float
    fit: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    """A place, the stretch around it that pointing at shows its figures, and its marks.

    Its label is always there where it has room, else while it is pointed at.
    """

    label: str
    has_room: bool
    x: float
    left: float
    width: float
    figures_x: float
    anchor: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A series' line: the points of an SVG polyline."""

    style: Style
    points: str


@dataclass(frozen=True, slots=True)
class Interval:
    """An upright line: in which interval a figure lies."""

    style: Style
    x: float
    low_y: float
    high_y: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A place between columns from which on something else was measured; its label is there where it has room."""

    label: str
    has_room: bool
    x: float


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with its heading; `description` says it to those who don't see it."""

    heading: str
    unit: str
    description: str
    ticks: tuple[Tick, ...]
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    intervals: tuple[Interval, ...] = ()
    turns: tuple[Turn, ...] = ()
    width: int = WIDTH


def lay_out(
    series: Sequence[Series], places: Mapping[str, float], scale: Scale, frame: Frame = _NARROW
) -> tuple[tuple[Column, ...], tuple[Line, ...]]:
    """Place all figures. `places` go from 0 at the left to 1 at the right; those without a figure are left out."""
    inner = frame.width - LEFT - RIGHT - 2 * frame.inset
    xs = {
        label: round(LEFT + frame.inset + inner * place, 1)
        for label, place in places.items()
        if any(shown(each.figures, label) for each in series)
    }
    lines = tuple(
        Line(
            each.style,
            " ".join(f"{x},{scale.y(value)}" for label, x in xs.items() if (value := shown(each.figures, label))),
        )
        for each in series
    )
    return tuple(_columns(series, xs, scale, frame)), lines


def scale_of(values: Iterable[float | None]) -> Scale | None:
    """Return the scale that shows all of these: from 0 on, unless they lie too far apart; None if none is positive."""
    positive = [value for value in values if value and value > 0]
    return (LogScale if is_wide(positive) else LinearScale).of(positive)


def is_wide(positive: Sequence[float]) -> bool:
    """Whether figures lie too far apart for a linear scale."""
    return bool(positive) and max(positive) / min(positive) > LINEAR_SPREAD_MAX


def shown(figures: Figures, label: str) -> float | None:
    """Return a figure that every scale can show."""
    value = figures.get(label)
    return value if value and value > 0 else None


def _from_top(share: float) -> float:
    return round(TOP + _INNER_HEIGHT * (1 - share), 1)


def _columns(series: Sequence[Series], xs: Mapping[str, float], scale: Scale, frame: Frame) -> Iterable[Column]:
    labels, labelled = list(xs), with_room(xs, frame.labels_apart)
    for place, (label, x) in enumerate(xs.items()):
        left = (xs[labels[place - 1]] + x) / 2 if place else LEFT
        right = (x + xs[labels[place + 1]]) / 2 if place + 1 < len(labels) else frame.width
        on_the_left = x > frame.width - _FIGURE_ROOM
        yield Column(
            label=label,
            has_room=label in labelled,
            x=x,
            left=round(left, 1),
            width=round(right - left, 1),
            figures_x=x - _FIGURE_GAP if on_the_left else x + _FIGURE_GAP,
            anchor="end" if on_the_left else "start",
            marks=_marks(series, label, scale),
        )


def with_room(xs: Mapping[str, float], labels_apart: int) -> set[str]:
    """Return the labels that aren't written over another, the last among them."""
    labelled, before = set(), math.inf
    for label, x in reversed(list(xs.items())):
        if before - x >= labels_apart:
            labelled.add(label)
            before = x
    return labelled


def _marks(series: Sequence[Series], label: str, scale: Scale) -> tuple[Mark, ...]:
    at = sorted(
        ((scale.y(value), value, each) for each in series if (value := shown(each.figures, label))),
        key=lambda mark: mark[0],
    )
    places = _apart([y for y, _, _ in at])
    return tuple(
        Mark(each.style, number(value), y, place, fit=label not in each.unfit)
        for (y, value, each), place in zip(at, places, strict=True)
    )


def _apart(wished: Sequence[float]) -> list[float]:
    """Move figures apart that would be written over each other: from the top down, then back up from the edge."""
    places: list[float] = []
    for y in wished:
        places.append(max(y, places[-1] + _LINE_HEIGHT) if places else max(y, TOP))
    edge = float(HEIGHT - BOTTOM)
    for index in reversed(range(len(places))):
        places[index] = min(places[index], edge)
        edge = places[index] - _LINE_HEIGHT
    return [round(place, 1) for place in places]
