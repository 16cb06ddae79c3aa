"""A plot: a line for each series, with marks at some places, whose figures pointing at a place shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import WIDTH, Drawing, Point, element, join, line, mark, polyline, text
from wirebench.present.numbers import format_number

LEFT, RIGHT, TOP, BOTTOM = 48, 14, 14, 24
_HEIGHT = 240
#: What the outer places keep from the ends.
_INSET = 10
_FLOOR = _HEIGHT - BOTTOM

#: What two figures written below each other need, and how far a figure stands from its mark.
_LINE_HEIGHT = 13
_FIGURE_GAP = 8
#: Nearer to the right end than this, figures are written to the left of their marks: they'd leave the drawing.
_FIGURE_ROOM = 48
#: How far labels below a drawing are apart at least.
_LABELS_APART = 32


@dataclass(frozen=True, slots=True)
class Mark:
    """A series' figure at a place, hollow unless it is fit, with the figures of its blocks.

    `interval` is that of the figure, or what its blocks span; `truth` is where the true one lies, by the error of the
    instrument.
    """

    x: float
    y: float
    fit: bool = True
    blocks: Sequence[float] = ()
    interval: Point | None = None
    truth: Point | None = None


@dataclass(frozen=True, slots=True)
class PlotSeries:
    """What a line goes through: its points, or else its marks.

    Thin lines lie behind it; a band holds (x, low, high) at each of its places.
    """

    style: Style
    marks: Sequence[Mark] = ()
    points: Sequence[Point] = ()
    behind: Sequence[Sequence[Point]] = ()
    band: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """Where things go: `reach` is of x, from the left to the right; `labels` are written below their places.

    Where labels have no room, the first of them are written; the others are there while they are pointed at.
    """

    scale: Scale
    reach: Point
    labels: Mapping[float, str]

    def draw(self, title: str, description: str, series: Sequence[PlotSeries]) -> Drawing:
        lines = (part for each in series for part in self._series(each))
        marks = (part for each in series for part in self._draw_marks(each))
        parts = (*self._grid(), *lines, *marks, *self._columns(series))
        return Drawing("plot", title, description, (WIDTH, _HEIGHT), parts)

    def x(self, value: float) -> float:
        first, last = self.reach
        inner = WIDTH - LEFT - RIGHT - 2 * _INSET
        return LEFT + _INSET + inner * ((value - first) / (last - first) if last > first else 0.5)

    def y(self, value: float) -> float:
        return TOP + (_FLOOR - TOP) * (1 - self.scale.at(value))

    def _grid(self) -> Iterator[Markup]:
        for value, label in self.scale.ticks().items():
            y = self.y(value)
            yield line("grid", (LEFT, y), (WIDTH, y))
            yield text(LEFT - 7, y + 4, label, anchor="end")

    def _series(self, of: PlotSeries) -> Iterator[Markup]:
        for points in of.behind:
            yield polyline("behind", self._place(points), of.style)
        if of.band:
            lower = ((x, low) for x, low, _ in of.band)
            upper = ((x, high) for x, _, high in reversed(of.band))
            yield element("polygon", class_="band", points=join(self._place((*lower, *upper))), fill=of.style.colour)
        for each in of.marks:
            for kind, ends in (("truth", each.truth), ("interval", each.interval)):
                if ends:
                    low, high = self._place((each.x, end) for end in ends)
                    yield line(kind, low, high, of.style.colour)
        yield polyline("line", self._place(of.points or [(each.x, each.y) for each in of.marks]), of.style)

    def _draw_marks(self, of: PlotSeries) -> Iterator[Markup]:
        for each in of.marks:
            for block in each.blocks:
                yield element(
                    "circle", class_="block", cx=self.x(each.x), cy=self.y(block), r=1.6, fill=of.style.colour
                )
            yield mark(of.style, self.x(each.x), self.y(each.y), fit=each.fit)

    def _place(self, points: Iterable[Point]) -> list[Point]:
        return [(self.x(x), self.y(y)) for x, y in points]

    def _columns(self, series: Sequence[PlotSeries]) -> Iterator[Markup]:
        written = choose_places((self.x(value) for value in self.labels), _LABELS_APART)
        marked = {each.x for one in series for each in one.marks}
        for value in sorted(self.labels.keys() - marked):
            if self.x(value) in written:
                yield text(self.x(value), _HEIGHT - 7, self.labels[value], anchor="middle")
        places = sorted(marked & self.labels.keys())
        for index, value in enumerate(places):
            x = self.x(value)
            left = (self.x(places[index - 1]) + x) / 2 if index else LEFT
            right = (self.x(places[index + 1]) + x) / 2 if index + 1 < len(places) else WIDTH
            around = element("rect", class_="around", x=left, y=0, width=right - left, height=_HEIGHT)
            here = line("here", (x, TOP), (x, _FLOOR))
            kind = "scale" if x in written else "scale rare"
            label = text(x, _HEIGHT - 7, self.labels[value], kind, "middle")
            yield element("g", around, here, label, *self._figures(series, value), class_="column")

    def _figures(self, series: Sequence[PlotSeries], value: float) -> Iterator[Markup]:
        marks = [(self.y(each.y), one.style, each.y) for one in series for each in one.marks if each.x == value]
        marks.sort(key=lambda each: each[0])
        x = self.x(value)
        is_left = x > WIDTH - _FIGURE_ROOM
        anchor, at = ("end", x - _FIGURE_GAP) if is_left else ("start", x + _FIGURE_GAP)
        for y, (_, style, figure) in zip(spread([each[0] for each in marks], TOP, _FLOOR), marks, strict=True):
            yield element(
                "text", format_number(figure), class_="figure", x=at, y=y + 4, text_anchor=anchor, fill=style.colour
            )


def choose_places(places: Iterable[float], apart: float) -> set[float]:
    """Return the places whose labels aren't written over another; the first come first."""
    written: set[float] = set()
    for place in places:
        if all(abs(place - other) >= apart for other in written):
            written.add(place)
    return written


def spread(wished: Sequence[float], top: float, bottom: float) -> list[float]:
    """Move figures apart that would be written over each other: from the top down, then back up from the bottom."""
    places: list[float] = []
    for y in wished:
        places.append(max(y, places[-1] + _LINE_HEIGHT) if places else max(y, top))
    for index in reversed(range(len(places))):
        places[index] = min(places[index], bottom)
        bottom = places[index] - _LINE_HEIGHT
    return places
