"""The elements that all charts are made of. Text is text; colours are the page's, light or dark, by CSS variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup, escape

from wirebench.present.charts.style import Style

#: Charts that stand side by side are so wide.
WIDTH = 380

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG; `description` says its figures to those who don't see it. In templates it takes the width it is given."""

    kind: str
    title: str
    description: str
    #: Width and height, in units that are pixels on a phone.
    size: Point
    parts: tuple[Markup, ...]

    def __html__(self) -> Markup:
        width, height = self.size
        view = f"0 0 {_round(width)} {_round(height)}"
        desc = element("desc", self.description)
        label = {"class_": f"chart {self.kind}", "viewBox": view, "role": "img", "aria_label": self.title}
        return element("svg", desc, *self.parts, **label)


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with what stands above it: a title, and what the figures are of."""

    title: str
    unit: str
    svg: Drawing


def element(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element; what isn't Markup is escaped.

    `stroke_width` is the attribute `stroke-width`, and `class_` is `class`; those that are None or empty are left out.
    """
    written = "".join(
        f' {key.strip("_").replace("_", "-")}="{value if isinstance(value, str) else _round(value)}"'
        for key, each in attributes.items()
        if each is not None and (value := escape(each) if isinstance(each, str) else each) != ""
    )
    inside = Markup("").join(children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")  # noqa: S704 - escaped


def text(x: float, y: float, content: str, kind: str = "scale", anchor: str = "") -> Markup:
    return element("text", content, class_=kind, x=x, y=y, text_anchor=anchor)


def line(kind: str, start: Point, end: Point, stroke: str = "") -> Markup:
    return element("line", class_=kind, x1=start[0], y1=start[1], x2=end[0], y2=end[1], stroke=stroke)


def polyline(kind: str, points: Iterable[Point], style: Style) -> Markup:
    return element("polyline", class_=kind, points=join(points), stroke=style.colour, stroke_dasharray=style.dashes)


def join(points: Iterable[Point]) -> str:
    return " ".join(f"{_round(x)},{_round(y)}" for x, y in points)


def mark(style: Style, x: float, y: float, *, fit: bool = True) -> Markup:
    """Draw a style's marker, hollow for what failed a gate."""
    fill = style.colour if fit else "var(--paper)"
    path = f"M{_round(x)} {_round(y)}{style.outline}"
    return element("path", class_="mark" if fit else "mark unfit", d=path, fill=fill, stroke=style.colour)


def swatch(style: Style) -> Markup:
    parts = polyline("line", ((1, 7), (33, 7)), style), mark(style, 17, 7)
    return element("svg", *parts, class_="swatch", viewBox="0 0 34 14", width=34, height=14, aria_hidden="true")


def _round(value: float) -> str:
    return f"{round(value, 1):.6g}"
