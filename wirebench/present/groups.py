"""Which cells share a picture: those that can be compared, but no more than an eye can tell apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from wirebench.analysis.summary import CellSummary
from wirebench.model import labels as names
from wirebench.model.contract import COMES_WITH

#: More curves than these are a tangle.
_CELLS_MAX = 8
#: Who is measured and by what: what pictures are there to show side by side.
_SIDE_BY_SIDE = frozenset({"transport", "variant", "implementation", "runtime", "codec", "threads", "driver"})


def group_cells(cells: Iterable[CellSummary], compared: str) -> dict[str, list[CellSummary]]:
    """Put together the cells of the same operation and load, which share a picture; their names leave that out.

    Where those are many, each level of the factors that the run doesn't compare has a group of its own. Of each
    transport, the cell at its defaults comes first.
    """
    by_load: dict[str, list[CellSummary]] = {}
    for cell in cells:
        by_load.setdefault(names.describe_situation(cell.factors), []).append(cell)
    groups: dict[str, list[CellSummary]] = {}
    for title, together in by_load.items():
        apart = _find_factors_apart(together, compared)
        for cell in together:
            settings = names.describe_settings(cell.factors, cell.factors.keys() - apart)
            named = dataclasses.replace(cell, shared=cell.shared | apart)
            groups.setdefault(", ".join((title, *settings)), []).append(named)
    for members in groups.values():
        transports = [cell.factors["transport"] for cell in members]
        members.sort(key=lambda cell: len(names.name_cell(cell.factors, cell.shared)))
        members.sort(key=lambda cell: transports.index(cell.factors["transport"]))
    return groups


def _find_factors_apart(cells: Sequence[CellSummary], compared: str) -> frozenset[str]:
    """Return the factors each of whose levels has a picture of its own: none where one holds all cells."""
    if len(cells) <= _CELLS_MAX:
        return frozenset()
    varied = {name for name in cells[0].factors if len({cell.factors[name] for cell in cells}) > 1}
    return frozenset(varied - {*_SIDE_BY_SIDE, compared, *COMES_WITH.get(compared, ())})
