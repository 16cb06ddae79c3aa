"""How each transport looks, in every chart alike: a colour, a marker, and a line for each of its variants.

The colours are told apart by people who don't see all colours (after M. Okabe, K. Ito: Color Universal Design, 2008);
the marker and the line say the same once more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from wirebench.stats import CellSummary

#: Colours that stand for the page's own: `svg.inline` puts the CSS variable in their place.
INK, MUTED, GRID, PAPER, REST, GRPC, SOCKET, OTHER = (f"#00000{digit}" for digit in range(1, 9))
CSS_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    REST: "var(--rest)",
    GRPC: "var(--grpc)",
    SOCKET: "var(--socket)",
    OTHER: "var(--other)",
}

#: Figures that lie further apart than this, as a ratio, don't fit on a linear scale.
LINEAR_SPREAD_MAX = 20

_TRANSPORTS = {"rest": (REST, "o"), "grpc": (GRPC, "s"), "socket": (SOCKET, "^")}
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 2), (1.2, 1.6), (6, 2, 1.5, 2))


@dataclass(frozen=True, slots=True)
class Style:
    """How the cells of one name look. `dashes` are in widths of the line; none is a solid line."""

    name: str
    colour: str
    marker: str
    dashes: tuple[float, ...]
    hollow: bool

    @property
    def css_colour(self) -> str:
        """The colour as the page knows it."""
        return CSS_VARIABLES[self.colour]


def styles(cells: Iterable[CellSummary]) -> dict[str, Style]:
    """Give each name of a cell its look."""
    return styles_of((cell.name, str(cell.factors["transport"])) for cell in cells)


def styles_of(names: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """Give each name, which comes with its transport, a look.

    A transport's variants differ by line, and by a filled or hollow marker.
    """
    looks: dict[str, Style] = {}
    variants: dict[str, itertools.count[int]] = {}
    for name, transport in names:
        if name in looks:
            continue
        variant = next(variants.setdefault(transport, itertools.count()))
        colour, marker = _TRANSPORTS.get(transport, (OTHER, "D"))
        rounds, line = divmod(variant, len(_DASHES))
        looks[name] = Style(name, colour, marker, _DASHES[line], hollow=(line + rounds) % 2 == 1)
    return looks
