"""Putting runs and records into the tables: once or again, it comes to the same rows."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Table, delete, insert, select, update

from wirebench.errors import WirebenchError
from wirebench.index.rows import RecordRows, Row, record_rows, run_row
from wirebench.index.tables import blocks, cells, gates, runs, statistics
from wirebench.store import Record, RunInfo


def put_run(connection: Connection, info: RunInfo) -> int:
    """Put what is said of a run, and return the run's id. Raises WirebenchError if it doesn't say when it began."""
    row = run_row(info)
    found: int | None = connection.scalar(select(runs.c.id).where(runs.c.run_id == info.id))
    if found is None:
        return _inserted(connection, runs, row)
    connection.execute(update(runs).where(runs.c.id == found).values(row))
    return found


def id_of(connection: Connection, run_id: str) -> int:
    """Return the id of a run. Raises WirebenchError if it isn't there: somebody has made the index anew meanwhile."""
    found: int | None = connection.scalar(select(runs.c.id).where(runs.c.run_id == run_id))
    if found is None:
        raise WirebenchError(f"the index has no run {run_id}", "`wirebench index` puts it there")
    return found


def put_records(connection: Connection, run: int, records: Iterable[Record]) -> int:
    """Put records of a run, and return how many; each takes the place of one of the same cell and block.

    Raises WirebenchError if two of them are of the same cell and block.
    """
    ids = {row.cell: row.id for row in connection.execute(select(cells.c.id, cells.c.cell).where(cells.c.run == run))}
    of_tables: dict[Table, list[Row]] = {blocks: [], statistics: [], gates: []}
    seen: set[tuple[int, int]] = set()
    for record in records:
        rows = record_rows(record)
        if record.cell not in ids:
            ids[record.cell] = _inserted(connection, cells, {"run": run, **rows.cell})
        key = (ids[record.cell], record.block)
        if key in seen:
            raise WirebenchError(f"two records are of block {record.block} of {record.cell}", "remove one of them")
        seen.add(key)
        _add(of_tables, ids[record.cell], rows)
    _drop(connection, seen)
    for table, rows_of_table in of_tables.items():
        if rows_of_table:
            connection.execute(insert(table), rows_of_table)
    return len(seen)


def remove_run(connection: Connection, run_id: str) -> None:
    """Remove a run, if it is there, and all that belongs to it."""
    connection.execute(delete(runs).where(runs.c.run_id == run_id))


def _inserted(connection: Connection, table: Table, row: Row) -> int:
    """Insert a row and return its id."""
    inserted: int = connection.execute(insert(table).values(row).returning(table.c.id)).scalar_one()
    return inserted


def _add(of_tables: dict[Table, list[Row]], cell_id: int, rows: RecordRows) -> None:
    of_tables[blocks].append({"cell_id": cell_id, **rows.block})
    of_tables[statistics] += [{"cell_id": cell_id, **row} for row in rows.statistics]
    of_tables[gates] += [{"cell_id": cell_id, **row} for row in rows.gates]


def _drop(connection: Connection, keys: Iterable[tuple[int, int]]) -> None:
    """Remove what is there of these cells and blocks."""
    for cell_id, block in keys:
        connection.execute(delete(blocks).where(blocks.c.cell_id == cell_id, blocks.c.block == block))
