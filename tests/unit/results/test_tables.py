"""Tables in three formats: the same columns and rows, and names that stay text."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyarrow import parquet

from wirebench.model.factor import FACTORS as CELL_FACTORS
from wirebench.results.export import ExportTable, FormatName, write_table


@dataclass(frozen=True, slots=True)
class Row:
    """A row with all kinds of columns."""

    name: str
    started_at: datetime
    count: int | None
    latency_ms: float | None
    gates: tuple[str, ...]
    errors: dict[str, int]
    transport: str
    factors: dict[str, str | int | float | None]


FACTORS: dict[str, str | int | float | None] = {
    "transport": "rest",
    "workers": 2,
    "threads": None,
    "tls": "none",
    "payload": 64,
}
STARTED = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
ROWS = (
    Row('<b>é, "x"', STARTED, 3, 0.1, ("drift", "error_rate"), {"timeout": 1}, "rest", FACTORS),
    Row("two\nlines", STARTED, None, None, (), {}, "grpc", {}),
)  # fmt: skip


def written(format_name: FormatName, *rows: Row) -> bytes:
    """Return a table as a file."""
    file = io.BytesIO()
    write_table(format_name, file, ExportTable("rows", Row, iter(rows)))
    assert not file.closed
    return file.getvalue()


def test_json_has_the_rows_and_their_number() -> None:
    """A line each; absent figures are null."""
    answer = json.loads(written("json", *ROWS))
    assert 2 == answer["count"]
    first, second = answer["rows"]
    assert ('<b>é, "x"', "2026-11-21T10:15:00Z", ["drift", "error_rate"]) == (
        first["name"], first["started_at"], first["gates"],
    )  # fmt: skip
    assert (None, None, [], {}, FACTORS) == (
        second["count"], second["latency_ms"], second["gates"], second["factors"], first["factors"],
    )  # fmt: skip
    assert {"rows": [], "count": 0} == json.loads(written("json"))


def test_csv_has_a_line_of_names_and_one_a_row() -> None:
    """Absent figures are empty, several names are set apart by spaces, each factor has a column."""
    lines = csv.DictReader(io.StringIO(written("csv", *ROWS).decode(), newline=""))
    first, second = lines
    assert ["name", "started_at", "count", "latency_ms", "gates", "errors", "transport", "runtime"] == list(first)[:8]
    assert ('<b>é, "x"', "2026-11-21T10:15:00+00:00", "3", "0.1", "drift error_rate", '{"timeout":1}') == (
        first["name"], first["started_at"], first["count"], first["latency_ms"], first["gates"], first["errors"],
    )  # fmt: skip
    assert ("rest", "2", "", "none", "64") == tuple(first[name] for name in FACTORS)
    assert ("two\nlines", "", "", "", "{}", "grpc", "") == tuple(
        second[name] for name in ("name", "count", "latency_ms", "gates", "errors", "transport", "workers")
    )
    assert "factors" not in first


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "\n=1", "\uff1d1"])
def test_no_name_becomes_a_formula(name: str) -> None:
    """A spreadsheet takes it for the text that it is; numbers stay numbers."""
    row = Row(name, STARTED, -1, -0.5, (name,), {}, name, {"variant": name})
    (found,) = csv.DictReader(io.StringIO(written("csv", row).decode(), newline=""))
    assert {f"'{name}"} == {found["name"], found["gates"], found["transport"], found["variant"]}
    assert ("-1", "-0.5") == (found["count"], found["latency_ms"])


def test_parquet_has_types() -> None:
    """Times are times in UTC, gates lists, figures numbers that may be absent."""
    table = parquet.read_table(io.BytesIO(written("parquet", *ROWS)))
    assert [pa.string(), pa.timestamp("us", "UTC"), pa.int64(), pa.float64(), pa.list_(pa.string()), pa.string()] == (
        table.schema.types[:6]
    )
    assert [pa.int64(), pa.int64(), pa.string(), pa.string()] == [
        table.schema.field(name).type for name in ("workers", "threads", "tls", "payload")
    ]
    first, second = table.to_pylist()
    assert (STARTED, 3, 0.1, ["drift", "error_rate"]) == (
        first["started_at"], first["count"], first["latency_ms"], first["gates"],
    )  # fmt: skip
    assert FACTORS | {"payload": "64"} == {name: first[name] for name in FACTORS}
    assert {"timeout": 1} == json.loads(first["errors"])
    assert ("two\nlines", None, None, []) == (second["name"], second["count"], second["latency_ms"], second["gates"])


def test_an_empty_parquet_file_has_its_columns() -> None:
    """What finds nothing is a table all the same."""
    table = parquet.read_table(io.BytesIO(written("parquet")))
    assert 0 == table.num_rows
    assert {"name", "errors", *CELL_FACTORS} <= set(table.column_names)
