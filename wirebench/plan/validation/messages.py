"""Validation messages: what is wrong in a scenario, where, and the next step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from wirebench.model.cell import Cell
from wirebench.model.scenario import EVERY_TRANSPORT, Factors, locate_factor
from wirebench.model.source import FieldPath

T = TypeVar("T")

#: An invalid field, what is wrong with it, and the next step.
ValidationMessage = tuple[FieldPath, str, str]
ValidationMessages = Iterator[ValidationMessage]
#: The same of a cell, by the name of a factor.
CellMessages = Iterator[tuple[str, str, str]]


def collect_levels(by_transport: Mapping[Any, tuple[T, ...]]) -> set[T]:
    return set(itertools.chain(*by_transport.values()))


def locate_level(factors: Factors, name: str, cell: Cell) -> FieldPath:
    """Return where the level is written that a cell has of a factor, or would be."""
    levels = factors.find_levels(name)
    owner = (cell.transport,) if cell.transport in levels else ()
    own = levels.get(owner[0] if owner else EVERY_TRANSPORT, ())
    if getattr(cell, name) not in own:
        return locate_factor(name)
    return (*locate_factor(name), *owner, own.index(getattr(cell, name)))
