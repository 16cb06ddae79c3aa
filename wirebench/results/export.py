"""Rows as files that other programs read: JSON, CSV and Parquet.

CSV and Parquet have a column for each field of a row, and one for each factor.
"""

from __future__ import annotations

import csv
import io
import itertools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, BinaryIO, Literal, Union, get_args, get_origin, get_type_hints

import orjson
from pydantic import TypeAdapter

from wirebench.model.cell import Cell
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
    columns = _list_columns(table.row)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow(column.name for column in columns)
    formats = [(column.read, _CSV.get(column.kind)) for column in columns]
    for row in table.rows:
        values = ((read(row), write) for read, write in formats)
        writer.writerow([write(value) if write and value is not None else value for value, write in values])
    text.detach()


def _write_csv_text(words: str) -> str:
    """Keep a text one: with an apostrophe before it, a spreadsheet doesn't calculate it."""
    return f"'{words}" if unicodedata.normalize("NFKC", words[:1]) in _FORMULA_SIGNS else words


def _dump(counts: Mapping[str, object]) -> str:
    return orjson.dumps(counts).decode()


_CSV: dict[type, Callable[[Any], str]] = {
    str: _write_csv_text,
    datetime: datetime.isoformat,
    tuple: lambda names: _write_csv_text(" ".join(names)),  # they are wirebench's own and have no spaces
    dict: _dump,
}


def _write_parquet(file: BinaryIO, table: ExportTable) -> None:
    """Write rows group by group: names are lists, times microseconds in UTC, counts by name JSON."""
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
    columns = _list_columns(table.row)
    schema = pa.schema([(column.name, kinds[column.kind]) for column in columns])
    remaining = iter(table.rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := tuple(itertools.islice(remaining, _ROWS_A_GROUP)):
            values = {column.name: list(map(column.read, group)) for column in columns}
            values |= {each.name: list(map(_dump, values[each.name])) for each in columns if each.kind is dict}
            writer.write_table(pa.table(values, schema))


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    kind: type
    read: Callable[[Any], Any]


@cache
def _list_columns(row: type) -> tuple[_Column, ...]:
    """Return a column for each field of a row; instead of `factors`, one for each factor that isn't a field as well."""
    fields = get_type_hints(row)
    columns = [_Column(name, _find_kind(hint), attrgetter(name)) for name, hint in fields.items() if name != "factors"]
    if "factors" in fields:
        levels = {name: _find_kind(hint) for name, hint in get_type_hints(Cell).items() if name not in fields}
        columns += [_Column(name, kind, partial(_read_level, name, kind)) for name, kind in levels.items()]
    return tuple(columns)


def _read_level(name: str, kind: type, row: Any) -> object:  # noqa: ANN401 - a row that has factors
    level = row.factors.get(name)  # a run from before a factor was added doesn't have it
    return level if level is None else kind(level)


def _find_kind(hint: Any) -> type:  # noqa: ANN401 - an annotation
    """Return the type of a column's values that aren't None: text where several types occur."""
    several = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = {get_origin(each) or each for each in several} - {NoneType}
    return kinds.pop() if len(kinds) == 1 and Literal not in kinds else str
