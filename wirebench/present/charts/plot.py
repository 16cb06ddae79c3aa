"""A plot: a line for each series, with marks at some places, whose figures pointing at them shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import WIDTH, Drawing, Point, element, line, mark, polyline, text
from wirebench.present.numbers import format_number

LEFT, RIGHT, TOP, BOTTOM = 48, 14, 14, 24
_HEIGHT = 240
#: What the outer places keep from the ends.
_INSET = 10
_FLOOR = _HEIGHT - BOTTOM

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
    """What a line goes through: its points, or else its marks."""

    style: Style
    marks: Sequence[Mark] = ()
    points: Sequence[Point] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """Where things go: `reach` is of x, from the left to the right; `labels` are written below their places.

    Where labels have no room, the first of them are written.
    """

    scale: Scale
    reach: Point
    labels: Mapping[float, str]

    def draw(self, title: str, description: str, series: Sequence[PlotSeries]) -> Drawing:
        lines = (part for each in series for part in self._series(each))
        marks = (part for each in series for part in self._draw_marks(each))
        parts = (*self._grid(), *lines, *marks, *self._write_labels())
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
            name = " ".join((of.style.name, self.labels.get(each.x, ""), format_number(each.y)))
            sign = mark(of.style, self.x(each.x), self.y(each.y), fit=each.fit)
            yield element("g", element("title", name), sign)

    def _place(self, points: Iterable[Point]) -> list[Point]:
        return [(self.x(x), self.y(y)) for x, y in points]

    def _write_labels(self) -> Iterator[Markup]:
        """Write the labels, but for those that would be written over one of the first."""
        written: list[float] = []
        for value, label in self.labels.items():
            x = self.x(value)
            if all(abs(x - other) >= _LABELS_APART for other in written):
                written.append(x)
                yield text(x, _HEIGHT - 7, label, anchor="middle")
