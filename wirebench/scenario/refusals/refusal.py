"""What a refusal is, and what all that refuse need."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from wirebench.model.source import FieldPath
from wirebench.scenario.cell import Cell
from wirebench.scenario.model import EVERY_TRANSPORT, Factors, field_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The field that asks for what can't be, what is wrong with it, and what to do."""

    field: FieldPath
    message: str
    hint: str


def all_levels(by_transport: Mapping[Any, tuple[T, ...]]) -> set[T]:
    """Return the levels of a factor, whatever their transport."""
    return set(itertools.chain(*by_transport.values()))


def written(factors: Factors, name: str, cell: Cell) -> FieldPath:
    """Return where the level is written that a cell has of a factor."""
    levels = factors.levels(name)
    owner = (cell.transport,) if cell.transport in levels else ()
    return (*field_of(name), *owner, levels[owner[0] if owner else EVERY_TRANSPORT].index(getattr(cell, name)))
