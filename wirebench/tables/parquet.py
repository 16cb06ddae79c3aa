"""Tables as Parquet: typed columns for pandas, DuckDB, Polars and Spark."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, BinaryIO

import orjson

from wirebench.tables.table import Column, Table

#: Rows that are held at a time, and what one group of the file has.
_ROWS_A_GROUP = 10_000


def write_parquet(file: BinaryIO, table: Table) -> None:
    """Write rows group by group: names are lists, times microseconds in UTC, levels JSON, for they differ in type."""
    # Imported late: loading it takes longer than most commands.
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    types = {
        "text": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "moment": pa.timestamp("us", tz="UTC"),
        "names": pa.list_(pa.string()),
        "levels": pa.string(),
    }
    schema = pa.schema([(column.name, types[column.kind]) for column in table.columns])
    remaining = iter(table.rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := tuple(itertools.islice(remaining, _ROWS_A_GROUP)):
            arrays = [pa.array(_values(column, group), types[column.kind]) for column in table.columns]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _values(column: Column, rows: Sequence[object]) -> list[Any]:
    values = [getattr(row, column.name) for row in rows]
    return [orjson.dumps(value).decode() for value in values] if column.kind == "levels" else values
