"""A matplotlib figure as an inline SVG of the page."""

from __future__ import annotations

import io
import re

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wirebench.report.charts.style import CSS_VARIABLES, MUTED

WIDTH = 380
FONT_SIZE = 12.5
SMALL_FONT_SIZE = 11.5
UNITS_PER_INCH = 72
_PROLOGUE = re.compile(r"\A.*?(?=<svg )", re.DOTALL)
_DEFAULT_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>\s*", re.DOTALL)
_NAMESPACE = re.compile(r' xmlns(?::xlink)?="[^"]*"')  # HTML knows them
_SIZE = re.compile(r'width="[^"]*" height="[^"]*" ')
_EMPTY_GROUP = re.compile(r'\s*<g id="[^"]*"/>')
_GROUP_ID = re.compile(r'<g id="[^"]*">')
_PATH = re.compile(r' d="[^"]*"')
_LONG_NUMBER = re.compile(r"(\.\d\d)\d+")
_COLOUR = re.compile("|".join(CSS_VARIABLES))


def new_axes(height: float, *, left: float, right: float, top: float, bottom: float) -> tuple[Figure, Axes]:
    """Return a figure of `WIDTH` by height and its only axes, with these margins; all in the SVG's units."""
    figure = Figure(figsize=(WIDTH / UNITS_PER_INCH, height / UNITS_PER_INCH))
    inner = (WIDTH - left - right, height - top - bottom)
    axes = figure.add_axes((left / WIDTH, bottom / height, inner[0] / WIDTH, inner[1] / height))
    remove_frame(axes)
    return figure, axes


def remove_frame(axes: Axes) -> None:
    """Leave nothing of the axes but the labels of their ticks."""
    axes.patch.set_visible(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(which="both", length=0, labelsize=SMALL_FONT_SIZE, labelcolor=MUTED)


def inline(figure: Figure, name: str, description: str) -> Markup:
    """Render a figure to an `<svg>` that takes the width it is given.

    `name` must be unique in the page: ids within the SVG depend on it. `description` is for those who don't see it. The
    same figure and name give the same text.
    """
    output = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.sans-serif": ["DejaVu Sans"]}):
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(output, format="svg", transparent=True, metadata=nothing)
    text = _PROLOGUE.sub("", output.getvalue())
    text = _DEFAULT_STYLE.sub("", text)
    text = _NAMESPACE.sub("", text)
    text = _SIZE.sub("", text, count=1)
    text = _EMPTY_GROUP.sub("", text)
    text = _GROUP_ID.sub("<g>", text)
    text = _PATH.sub(lambda path: _LONG_NUMBER.sub(r"\1", path[0]).replace("\n", ""), text)
    text = _COLOUR.sub(lambda colour: CSS_VARIABLES[colour[0]], text)
    label = Markup('<svg role="img" aria-label="{}" ').format(description)
    return Markup(text.replace("<svg ", label, 1))  # noqa: S704 - matplotlib escapes the text that it is given
