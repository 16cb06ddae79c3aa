"""The formats by name: what each is called on the wire, and what writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Literal, get_args

from wirebench.tables.csv_ import write_csv
from wirebench.tables.json_ import write_json
from wirebench.tables.parquet import write_parquet
from wirebench.tables.table import Table

FormatName = Literal["json", "csv", "parquet"]
FORMATS: tuple[FormatName, ...] = get_args(FormatName)

#: text/csv is RFC 4180's; Parquet's is registered with IANA.
MEDIA_TYPES: dict[FormatName, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8; header=present",
    "parquet": "application/vnd.apache.parquet",
}

_WRITERS: dict[FormatName, Callable[[BinaryIO, Table], None]] = {
    "json": write_json,
    "csv": write_csv,
    "parquet": write_parquet,
}


def write_table(format_name: FormatName, file: BinaryIO, table: Table) -> None:
    """Write a table, without holding all of its rows."""
    _WRITERS[format_name](file, table)
