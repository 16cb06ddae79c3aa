"""Which cells share a picture: those that can be compared, but no more than an eye can tell apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from wirebench.scenario.contract import COMES_WITH
from wirebench.stats import CellSummary, names

#: More curves than these are a tangle.
_CELLS_MAX = 8
#: Who is measured and by what: what pictures are there to show side by side.
_SIDE_BY_SIDE = frozenset({"transport", "implementation", "runtime", "codec", "threads", "driver"})


def group(cells: Sequence[CellSummary], compared: str) -> dict[str, list[CellSummary]]:
    """Put together the cells of the same operation and load, by what they have in common.

    Where those are many, each level of the factors that the run doesn't compare has a group of its own, whose cells'
    names leave it out. Of each transport, the cell at its defaults comes first.
    """
    groups: dict[str, list[CellSummary]] = {}
    for cell in cells:
        groups.setdefault(names.load(cell.factors), []).append(cell)
    told_apart: dict[str, list[CellSummary]] = {}
    for title, together in groups.items():
        told_apart |= _split(together, compared) if len(together) > _CELLS_MAX else {title: together}
    for members in told_apart.values():
        transports = [cell.factors["transport"] for cell in members]
        members.sort(key=lambda cell: (transports.index(cell.factors["transport"]), len(cell.name)))
    return told_apart


def _split(cells: Sequence[CellSummary], compared: str) -> dict[str, list[CellSummary]]:
    kept = {*_SIDE_BY_SIDE, compared, *COMES_WITH.get(compared, ())}
    varied = {name for name in cells[0].factors if len({cell.factors[name] for cell in cells}) > 1}
    apart = frozenset(varied - kept)
    groups: dict[str, list[CellSummary]] = {}
    for cell in cells:
        others = cell.factors.keys() - apart
        title = ", ".join((names.load(cell.factors), *names.settings(cell.factors, others)))
        groups.setdefault(title, []).append(dataclasses.replace(cell, shared=cell.shared | apart))
    return groups
