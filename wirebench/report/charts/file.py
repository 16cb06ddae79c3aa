"""A chart as a file of its own: an SVG that is light or dark as its reader is, or a PNG that is light."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from wirebench.errors import UsageError
from wirebench.files import whole_file, write_whole
from wirebench.report.charts.style import CSS_VARIABLES, PAPER
from wirebench.report.charts.svg import UNITS_PER_INCH, inline
from wirebench.report.templates import LOOK

_ROOT = re.compile(r":root \{.*?\}", re.DOTALL)
_COLOUR = re.compile(r"(--[a-z]+): (#[0-9a-f]{6})")
_PNG_PIXELS_PER_UNIT = 2


def write(figure: Figure, path: Path, description: str) -> None:
    """Write a figure as what the file's name ends in; afterwards it can't be drawn again.

    Raises UsageError for another ending, WirebenchError if it can't be written.
    """
    kind = path.suffix.lower()
    if kind == ".svg":
        write_whole(path, as_svg(figure, description))
    elif kind == ".png":
        with whole_file(path) as file:
            file.write(as_png(figure))
    else:
        raise UsageError(f"{path}: a plot is an .svg or a .png", "give the file one of these names")


def as_svg(figure: Figure, description: str) -> str:
    """Return a figure as an SVG that stands alone, in the report's colours."""
    width, height = (round(inches * UNITS_PER_INCH) for inches in figure.get_size_inches())
    light, dark = (f":root {{{';'.join(map(':'.join, look.items()))}}}" for look in _looks())
    style = f"<style>{light} @media (prefers-color-scheme: dark) {{{dark}}}</style>"
    paper = f'<rect width="100%" height="100%" style="fill: {CSS_VARIABLES[PAPER]}"/>'
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    start, end, rest = str(inline(figure, "plot", description)).partition(">")
    return f'{start.replace("<svg", f"<svg {spaces}")} width="{width}" height="{height}"{end}\n{style}{paper}{rest}'


def as_png(figure: Figure) -> bytes:
    """Return a figure as a PNG in the report's light colours, which take the place of those that stand for them."""
    light, _ = _looks()
    colours = {
        stands: light[variable.removeprefix("var(").removesuffix(")")] for stands, variable in CSS_VARIABLES.items()
    }

    def real(colour: Any) -> Any:  # noqa: ANN401 - matplotlib's many ways to say one
        return colours.get(to_hex(colour), colour)

    for text in figure.findobj(Text):
        text.set_color(real(text.get_color()))
    for line in figure.findobj(Line2D):
        line.set_color(real(line.get_color()))
        line.set_markerfacecolor(real(line.get_markerfacecolor()))
        line.set_markeredgecolor(real(line.get_markeredgecolor()))
    output = io.BytesIO()
    figure.savefig(output, format="png", dpi=_PNG_PIXELS_PER_UNIT * UNITS_PER_INCH, facecolor=colours[PAPER])
    return output.getvalue()


def _looks() -> tuple[dict[str, str], dict[str, str]]:
    """Return the report's colours by variable: light, dark."""
    light, dark = (dict(_COLOUR.findall(root)) for root in _ROOT.findall(LOOK.read_text(encoding="utf-8")))
    return light, dark
