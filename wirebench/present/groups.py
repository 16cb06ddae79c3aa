"""Which cells share a picture: those that can be compared, but no more than an eye can tell apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from wirebench.analysis.series import HasFactors
from wirebench.analysis.summary import CellSummary
from wirebench.model import labels as names
from wirebench.model.contract import COMES_WITH

#: More curves than these are a tangle.
_CELLS_MAX = 8
#: Who is measured and by what: what pictures are there to show side by side.
_SIDE_BY_SIDE = frozenset({"transport", "variant", "implementation", "runtime", "codec", "threads", "driver"})

_Cell = TypeVar("_Cell", bound=HasFactors)


@dataclasses.dataclass(frozen=True, slots=True)
class Group(Generic[_Cell]):
    """The cells of one picture: what they have in common, and the factors that their names needn't tell."""

    title: str
    cells: tuple[_Cell, ...]
    unsaid: frozenset[str]


def group_cells(cells: Iterable[CellSummary], compared: str) -> dict[str, list[CellSummary]]:
    """Put together the cells that share a picture, by what they have in common, which their names then leave out.

    Of each transport, the cell at its defaults comes first.
    """
    told_apart: dict[str, list[CellSummary]] = {}
    for each in groups(cells, compared):
        members = [dataclasses.replace(cell, shared=cell.shared | each.unsaid) for cell in each.cells]
        transports = [cell.factors["transport"] for cell in members]
        members.sort(key=lambda cell: (transports.index(cell.factors["transport"]), len(cell.name)))
        told_apart[each.title] = members
    return told_apart


def groups(cells: Iterable[_Cell], compared: str, drawn_over: str = "") -> tuple[Group[_Cell], ...]:
    """Put together the cells of the same operation and load, but for the factor that they are drawn over.

    Where those are many, each level of the factors that the run doesn't compare has a group of its own.
    """
    by_load: dict[str, list[_Cell]] = {}
    for cell in cells:
        by_load.setdefault(names.describe_situation(cell.factors, {drawn_over}), []).append(cell)
    return tuple(each for title, together in by_load.items() for each in _split(title, together, compared, drawn_over))


def _split(title: str, cells: Sequence[_Cell], compared: str, drawn_over: str) -> tuple[Group[_Cell], ...]:
    own = frozenset({drawn_over} - {""})
    if len(cells) <= _CELLS_MAX:
        return (Group(title, tuple(cells), own),)
    kept = {*_SIDE_BY_SIDE, compared, *COMES_WITH.get(compared, ()), *own}
    varied = {name for name in cells[0].factors if len({cell.factors[name] for cell in cells}) > 1}
    apart = frozenset(varied - kept)
    split: dict[str, list[_Cell]] = {}
    for cell in cells:
        others = cell.factors.keys() - apart
        split.setdefault(", ".join((title, *names.describe_settings(cell.factors, others))), []).append(cell)
    return tuple(Group(name, tuple(members), own | apart) for name, members in split.items())
