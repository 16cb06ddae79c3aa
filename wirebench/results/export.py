"""Rows as files that other programs read: JSON, CSV and Parquet, with the same columns in each."""

from __future__ import annotations

import csv
import io
import itertools
import types
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, BinaryIO, Literal, get_args, get_origin, get_type_hints

import orjson
from pydantic import TypeAdapter

from wirebench.results.index import PAGE_ROWS_MAX, Filters, Index, Result, ResultPage, RunRow

FormatName = Literal["json", "csv", "parquet"]
FORMATS: tuple[FormatName, ...] = get_args(FormatName)
TableName = Literal["results", "runs"]

#: text/csv is RFC 4180's; Parquet's is registered with IANA.
MEDIA_TYPES: dict[FormatName, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8; header=present",
    "parquet": "application/vnd.apache.parquet",
}

#: What a spreadsheet takes a text for a formula by. https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA_SIGNS = frozenset("=+-@\t\r\n")
#: Rows that are held at a time, and what one group of a Parquet file has.
_ROWS_A_GROUP = 10_000


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Rows of one dataclass, whose fields are the columns, read once and as they come."""

    name: str
    row: type
    rows: Iterable[object]


def make_table(
    index: Index, name: TableName, filters: Filters, limit: int | None = None, cursor: str | None = None
) -> ExportTable:
    """Return what the index holds, or at most so many rows; reading them raises what the index does."""

    def rows(cursor: str | None) -> Iterator[object]:
        find: Callable[..., ResultPage[Any]] = index.results if name == "results" else index.runs
        while True:
            page = find(filters, limit=PAGE_ROWS_MAX, cursor=cursor)
            yield from page.rows
            if (cursor := page.next_cursor) is None:
                return

    return ExportTable(name, Result if name == "results" else RunRow, itertools.islice(rows(cursor), limit))


def write_table(format_name: FormatName, file: BinaryIO, table: ExportTable) -> None:
    """Write a table, without holding all of its rows."""
    {"json": _write_json, "csv": _write_csv, "parquet": _write_parquet}[format_name](file, table)


def _write_json(file: BinaryIO, table: ExportTable) -> None:
    """Write what the API answers, but for its pages, a line each row."""
    adapter: TypeAdapter[Any] = TypeAdapter(table.row)
    file.write(b'{"%s": [' % table.name.encode())
    count = 0
    for row in table.rows:
        file.write(b",\n" if count else b"\n")
        file.write(adapter.dump_json(row))
        count += 1
    file.write(b'\n], "count": %d}\n' % count)


def _write_csv(file: BinaryIO, table: ExportTable) -> None:
    """Write a line of names, and one a row (RFC 4180); what is None is empty."""
    columns = _read_columns(table.row)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    formats = [(name, _CSV.get(kind)) for name, kind in columns.items()]
    for row in table.rows:
        values = ((getattr(row, name), write) for name, write in formats)
        writer.writerow([write(value) if write and value is not None else value for value, write in values])
    text.detach()


def _write_csv_text(words: str) -> str:
    """Keep a text one: with an apostrophe before it, a spreadsheet doesn't calculate it."""
    return f"'{words}" if unicodedata.normalize("NFKC", words[:1]) in _FORMULA_SIGNS else words


def _dump(levels: Mapping[str, object]) -> str:
    return orjson.dumps(levels).decode()


_CSV: dict[type, Callable[[Any], str]] = {
    str: _write_csv_text,
    datetime: datetime.isoformat,
    tuple: lambda names: _write_csv_text(" ".join(names)),  # they are wirebench's own and have no spaces
    dict: _dump,
}


def _write_parquet(file: BinaryIO, table: ExportTable) -> None:
    """Write rows group by group: names are lists, times microseconds in UTC, levels JSON, for they differ in type."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        datetime: pa.timestamp("us", tz="UTC"),
        tuple: pa.list_(pa.string()),
        dict: pa.string(),
    }
    columns = _read_columns(table.row)
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    remaining = iter(table.rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := tuple(itertools.islice(remaining, _ROWS_A_GROUP)):
            values = {name: [getattr(row, name) for row in group] for name in columns}
            values |= {name: list(map(_dump, values[name])) for name, kind in columns.items() if kind is dict}
            writer.write_table(pa.table(values, schema))


@cache
def _read_columns(row: type) -> Mapping[str, type]:
    columns = {}
    for name, hint in get_type_hints(row).items():
        known = get_args(hint)[0] if get_origin(hint) is types.UnionType else hint  # … | None
        columns[name] = get_origin(known) or known
    return columns
