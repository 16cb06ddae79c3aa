"""A table: rows of a dataclass, whose fields are the columns."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Literal, get_args, get_origin, get_type_hints

#: `names` are a tuple of texts, `levels` a mapping of them: what a table has no column type for in every format.
Kind = Literal["text", "whole", "number", "moment", "names", "levels"]

_KINDS: dict[object, Kind] = {str: "text", int: "whole", float: "number", datetime: "moment"}
_KINDS_OF_MANY: dict[object, Kind] = {tuple: "names", dict: "levels"}


@dataclass(frozen=True, slots=True)
class Column:
    """A field of every row, which may be None."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one dataclass, read once and as they come; `name` is what they are together."""

    name: str
    row: type
    rows: Iterable[object]

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, in the order of the fields. Raises KeyError for a type that no table can hold."""
        return _columns(self.row)


@cache
def _columns(row: type) -> Sequence[Column]:
    hints = get_type_hints(row)
    return tuple(Column(field.name, _kind(hints[field.name])) for field in fields(row))


def _kind(hint: object) -> Kind:
    if get_origin(hint) is types.UnionType:  # … | None
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    return _KINDS_OF_MANY[get_origin(hint)] if get_origin(hint) else _KINDS[hint]
