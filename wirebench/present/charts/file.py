"""Charts as a file of their own: an SVG that is light or dark as its reader is, or a PNG that is light."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from wirebench.errors import UsageError
from wirebench.present import CHARTS_CSS, LOOK_CSS
from wirebench.present.charts.style import Style
from wirebench.present.charts.svg import Drawing, element, swatch, text
from wirebench.system.files import open_atomic, write_atomic

_LOOKS = re.compile(r":root \{.*?\}", re.DOTALL)
_COLOUR = re.compile(r"(--[a-z-]+): (#[0-9a-f]{6})")
_VARIABLE = re.compile(r"var\((--[a-z-]+)\)")
_FONT = "text { font-family: system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif; }"
_EDGE, _LINE_HEIGHT, _CAPTION_HEIGHT = 16.0, 19, 24
_PNG_ZOOM = 2


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart in a file, with its heading, what its figures are of, and its legend above it."""

    heading: str
    legend: Sequence[Style]
    svg: Drawing
    unit: str = ""


def arrange(title: str, panels: Sequence[Panel], caption: str, columns: int = 1) -> Drawing:
    """Put panels of one width into one drawing, in so many columns, with a caption below them."""
    parts: list[Markup] = []
    below = _EDGE
    for first in range(0, len(panels), columns):
        row = panels[first : first + columns]
        top = below + _LINE_HEIGHT * (1 + max(bool(panel.unit) + len(panel.legend) for panel in row))
        for column, panel in enumerate(row):
            x = _EDGE + column * (panel.svg.size[0] + _EDGE)
            parts.append(text(x, below + 14, panel.heading, "title"))
            if panel.unit:
                parts.append(text(x, below + _LINE_HEIGHT + 11, panel.unit))
            for line, style in enumerate(panel.legend, 1 + bool(panel.unit)):
                y = below + line * _LINE_HEIGHT
                parts.append(element("g", swatch(style), transform=f"translate({x:g} {y:g})"))
                parts.append(text(x + 42, y + 11, style.name))
            parts.append(panel.svg.at(x, top))
        below = top + max(panel.svg.size[1] for panel in row) + _EDGE
    parts.append(text(_EDGE, below + 4, caption))
    width = _EDGE + min(columns, len(panels)) * (max((each.svg.size[0] for each in panels), default=0) + _EDGE)
    description = ". ".join(f"{panel.heading}: {panel.svg.description}" for panel in panels)
    return Drawing("file", title, description, (width, below + _CAPTION_HEIGHT), tuple(parts))


def write(drawing: Drawing, path: Path) -> None:
    """Write a drawing as what the file's name ends in.

    Raises UsageError for another ending, WirebenchError if it can't be written.
    """
    kind = path.suffix.lower()
    if kind == ".svg":
        write_atomic(path, as_svg(drawing))
    elif kind == ".png":
        with open_atomic(path) as file:
            file.write(as_png(drawing))
    else:
        raise UsageError(f"{path}: a plot is an .svg or a .png", "give the file one of these names")


def as_svg(drawing: Drawing) -> str:
    """Return a drawing as an SVG that stands alone, in the report's colours."""
    light, dark = (f":root {{{'; '.join(map(': '.join, look.items()))}}}" for look in _looks())
    return _standalone(drawing, f"{light} @media (prefers-color-scheme: dark) {{{dark}}} {_css()}")


def as_png(drawing: Drawing) -> bytes:
    import resvg_py

    light, _ = _looks()
    svg = _VARIABLE.sub(lambda variable: light[variable[1]], _standalone(drawing, _css()))
    return resvg_py.svg_to_bytes(svg_string=svg, zoom=_PNG_ZOOM)


def _standalone(drawing: Drawing, css: str) -> str:
    width, height = drawing.size
    style = Markup("<style>{}</style>").format(Markup(css))  # noqa: S704 - our own
    paper = element("rect", width=width, height=height, fill="var(--paper)")
    parts = element("title", drawing.title), style, paper, *drawing.parts
    whole = Drawing(drawing.kind, drawing.title, drawing.description, drawing.size, parts).at(0, 0)
    return str(whole).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1) + "\n"


def _css() -> str:
    return _FONT + CHARTS_CSS.read_text(encoding="utf-8")


def _looks() -> tuple[dict[str, str], dict[str, str]]:
    """Return the report's colours by variable: light, dark."""
    light, dark = (dict(_COLOUR.findall(root)) for root in _LOOKS.findall(LOOK_CSS.read_text(encoding="utf-8")))
    return light, dark
