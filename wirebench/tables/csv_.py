"""Tables as CSV (RFC 4180): for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, BinaryIO

import orjson

from wirebench.tables.table import Kind, Table

#: What a spreadsheet takes a text for a formula by. https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA_SIGNS = frozenset("=+-@\t\r\n")


def write_csv(file: BinaryIO, table: Table) -> None:
    """Write a line of names, and one a row; what is None is empty."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(column.name for column in table.columns)
    cells = [(column.name, _CELLS[column.kind]) for column in table.columns]
    for row in table.rows:
        values = ((getattr(row, name), cell) for name, cell in cells)
        writer.writerow(["" if value is None else cell(value) for value, cell in values])
    text.detach()


def _text(words: str) -> str:
    """Keep a text one: with an apostrophe before it, a spreadsheet doesn't calculate it."""
    return f"'{words}" if unicodedata.normalize("NFKC", words[:1]) in _FORMULA_SIGNS else words


def _number(value: float) -> float:
    return value


def _moment(moment: datetime) -> str:
    return moment.isoformat()


def _names(names: tuple[str, ...]) -> str:
    """Set names apart by spaces; they are wirebench's own and have none."""
    return _text(" ".join(names))


def _levels(levels: Mapping[str, object]) -> str:
    return orjson.dumps(levels).decode()


_CELLS: dict[Kind, Callable[[Any], str | float]] = {
    "text": _text,
    "whole": _number,
    "number": _number,
    "moment": _moment,
    "names": _names,
    "levels": _levels,
}
