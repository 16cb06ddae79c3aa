"""The tables of the index: runs and their cells, and a view of cells with their runs."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateView

from wirebench.analysis.results import Result, RunRow, describe_cells, describe_run
from wirebench.analysis.summary import summarise
from wirebench.errors import WirebenchError
from wirebench.store.runs import is_run_name, load_run, read_changed_ns


class Words(sa.TypeDecorator[str]):
    """Text that sorts by its bytes on every database; what a database can't hold is replaced."""

    impl = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002 - the interface
        """Replace U+0000, which PostgreSQL has no room for, and halves of characters."""
        return None if value is None else value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


#: By the annotation of a field; other fields are JSON.
_TYPES = {
    "str": Words,
    "str | None": Words,
    "datetime": Words,
    "int": sa.BigInteger,
    "int | None": sa.BigInteger,
    "float | None": sa.Double,
}
#: What a row of a cell has of its run.
_OF_RUN = ("run_id", "scenario", "started_at", "target", "machine")


def _make_columns(rows: type, *without: str) -> list[sa.Column[Any]]:
    """Return a column for each field of a row."""
    fields = [field for field in dataclasses.fields(rows) if field.name not in without]
    return [sa.Column(field.name, _TYPES.get(str(field.type), sa.JSON)) for field in fields]


metadata = sa.MetaData()
#: A row a run. `changed_ns` is when its folder was last written, as far as that is in the tables.
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", Words, primary_key=True),
    *_make_columns(RunRow, "run_id"),
    sa.Column("changed_ns", sa.BigInteger),
)
#: A row a cell of a run, in the order in which tables show them: all fields of a result.
cells = sa.Table(
    "cells",
    metadata,
    sa.Column("run_id", Words, primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),
    *_make_columns(Result, *_OF_RUN),
    #: None for the built-in application.
    sa.Column("variant", Words),
    # So that choosing filters doesn't read all figures.
    sa.Index("cells_by_filter", "transport", "variant", "driver", "concurrency", "operation"),
)
#: Cells with what is found by their run.
results = CreateView(
    sa.select(*(runs.c[name] for name in _OF_RUN), *(each for each in cells.c if each.name != "run_id")).join_from(
        runs, cells, cells.c.run_id == runs.c.run_id
    ),
    "results",
    metadata=metadata,
).table

#: Which schema the tables have, and that of this version.
schema = sa.Table("wirebench_schema", metadata, sa.Column("version", sa.Text, primary_key=True))
SCHEMA = "14"


def put_run(connection: sa.Connection, folder: Path) -> None:
    """Put a run, as its folder has it, in the place of what the tables have of it. Raises WirebenchError.

    Raises errors of the database for figures that it can't hold.
    """
    changed_ns = read_changed_ns(folder)
    run = load_run(folder)
    name = run.info.id
    if name != folder.name:
        raise WirebenchError(f"it is the run {name}, in a folder of another name", "name the folder as the run")
    if not is_run_name(name):
        raise WirebenchError("run.json: id: no run has such a name", "move the folder away")
    remove_run(connection, name)
    row = describe_run(run)
    connection.execute(runs.insert().values(_make_values(row) | {"changed_ns": changed_ns}))
    for place, cell in enumerate(describe_cells(run.info, summarise(run.records))):
        values = {key: value for key, value in _make_values(cell).items() if key in cells.c}
        connection.execute(cells.insert().values(values | {"place": place, "variant": cell.factors["variant"]}))


def remove_run(connection: sa.Connection, run_id: str) -> None:
    for table in (runs, cells):
        connection.execute(table.delete().where(table.c.run_id == run_id))


def _make_values(row: RunRow | Result) -> dict[str, Any]:
    values = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    return values | {"started_at": format_moment(row.started_at)}


def format_moment(moment: datetime) -> str:
    """Return a moment as text that sorts: SQLite has no type for it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
