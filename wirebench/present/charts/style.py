"""How each transport looks, in every chart alike: a colour, a marker, and a line for each of its variants.

The colours are safe for colour-blind readers (after M. Okabe, K. Ito: Color Universal Design, 2008);
the marker and the line say the same once more. A hollow mark is, in every chart, of a cell for which a gate failed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from wirebench.analysis.summary import CellSummary
from wirebench.present.labels import name_in_run

#: Markers: the outline of each around its place, as the path of an SVG.
_CIRCLE = "m-3.8 0a3.8 3.8 0 1 0 7.6 0a3.8 3.8 0 1 0-7.6 0z"
_SQUARE = "m-3.5-3.5h7v7h-7z"
_TRIANGLE = "m0-4.4l4.4 7.8h-8.8z"
_DIAMOND = "m0-4.8l4.8 4.8-4.8 4.8-4.8-4.8z"
_OTHER = ("var(--other)", _DIAMOND)
_TRANSPORTS = {
    "rest": ("var(--rest)", _CIRCLE),
    "grpc": ("var(--grpc)", _SQUARE),
    "socket": ("var(--socket)", _TRIANGLE),
}
_DASHES = ("", "7 4", "2 3", "10 3 3 3", "14 5", "10 3 3 3 3 3")


@dataclass(frozen=True, slots=True)
class Style:
    """How the cells of one name look: colours and dashes as in an SVG; without dashes, lines are solid."""

    name: str
    colour: str
    outline: str
    dashes: str = ""


def assign_styles(cells: Iterable[CellSummary]) -> dict[str, Style]:
    return assign_styles_to_names((name_in_run(cell), str(cell.factors["transport"])) for cell in cells)


def assign_styles_to_names(names: Iterable[tuple[str, str]]) -> dict[str, Style]:
    """Give each name, which comes with its transport, a look: a transport's variants differ by line."""
    styles: dict[str, Style] = {}
    variants: dict[str, itertools.count[int]] = {}
    for name, transport in names:
        if name not in styles:
            variant = next(variants.setdefault(transport, itertools.count()))
            styles[name] = Style(name, *_TRANSPORTS.get(transport, _OTHER), _DASHES[variant % len(_DASHES)])
    return styles
