"""How each transport looks, in every chart alike: a colour, a marker, and a line for each of its variants.

The colours are told apart by people who don't see all colours (after M. Okabe, K. Ito: Color Universal Design, 2008);
the marker and the line say the same once more. A hollow mark is, in every chart, of a cell for which a gate failed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from wirebench.stats import CellSummary

#: Colours that stand for the page's own: `svg.inline` puts the CSS variable in their place.
INK, MUTED, GRID, PAPER, REST, GRPC, SOCKET, OTHER, ROSE, GOLD = (f"#00000{digit:x}" for digit in range(1, 11))
CSS_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    REST: "var(--rest)",
    GRPC: "var(--grpc)",
    SOCKET: "var(--socket)",
    OTHER: "var(--other)",
    ROSE: "var(--rose)",
    GOLD: "var(--gold)",
}

#: Figures that lie further apart than this, as a ratio, don't fit on a linear scale.
LINEAR_SPREAD_MAX = 20

_TRANSPORTS = {"rest": (REST, "o"), "grpc": (GRPC, "s"), "socket": (SOCKET, "^")}
_DASHES: tuple[tuple[float, ...], ...] = (
    (), (4, 2), (1.2, 1.6), (6, 2, 1.5, 2), (9, 3), (6, 2, 1.5, 2, 1.5, 2),
)  # fmt: skip
#: Where all lines are of one transport, colours tell the lines apart.
_COLOURS = (REST, GRPC, SOCKET, OTHER, ROSE, GOLD)
#: Markers, as matplotlib calls them: the outline of each around its place, as the path of an SVG.
_OUTLINES = {
    "o": "m-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0-7.6 0z",
    "s": "m-3.5-3.5h7v7h-7z",
    "^": "m0-4.4l4.4 7.8h-8.8z",
    "D": "m0-4.8l4.8 4.8-4.8 4.8-4.8-4.8z",
    "v": "m0 4.4l4.4-7.8h-8.8z",
    "P": "m-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
}


@dataclass(frozen=True, slots=True)
class Style:
    """How the cells of one name look. `dashes` are in widths of the line; none is a solid line."""

    name: str
    colour: str
    marker: str
    dashes: tuple[float, ...]

    @property
    def outline(self) -> str:
        """The marker around its place, as commands that follow the place in the path of an SVG."""
        return _OUTLINES[self.marker]

    @property
    def css_colour(self) -> str:
        """The colour as the page knows it."""
        return CSS_VARIABLES[self.colour]


def styles(cells: Iterable[CellSummary]) -> dict[str, Style]:
    """Give each name of a cell its look."""
    return styles_of((cell.name, str(cell.factors["transport"])) for cell in cells)


def styles_of(names: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """Give each name, which comes with its transport, a look: a transport's variants differ by line."""
    looks: dict[str, Style] = {}
    variants: dict[str, itertools.count[int]] = {}
    for name, transport in names:
        if name in looks:
            continue
        variant = next(variants.setdefault(transport, itertools.count()))
        colour, marker = _TRANSPORTS.get(transport, (OTHER, "D"))
        looks[name] = Style(name, colour, marker, _DASHES[variant % len(_DASHES)])
    return looks


def styles_of_lines(names: Iterable[str]) -> dict[str, Style]:
    """Give each line of one transport a look of its own, a mark without a line among them.

    Colour and marker differ, and once the colours are through, they come with other markers and another line.
    """
    looks: dict[str, Style] = {}
    markers = tuple(_OUTLINES)
    for index, name in enumerate(dict.fromkeys(names)):
        rounds, place = divmod(index, len(_COLOURS))
        marker = markers[(place + rounds) % len(markers)]
        looks[name] = Style(name, _COLOURS[place], marker, _DASHES[rounds % len(_DASHES)])
    return looks
