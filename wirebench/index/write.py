"""Putting runs and records into the tables: once or again, it comes to the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update

from wirebench.errors import WirebenchError
from wirebench.index.bulk import insert_many
from wirebench.index.rows import RecordRows, Row, record_rows, run_row
from wirebench.index.tables import TABLES, blocks, cells, gates, runs, statistics
from wirebench.store import Record, RunInfo


def put_run(connection: Connection, info: RunInfo) -> int:
    """Put what is said of a run, and return the run's id. Raises WirebenchError if it doesn't say when it began."""
    row = run_row(info)
    found: int | None = connection.scalar(select(runs.c.id).where(runs.c.run_id == info.id))
    if found is None:
        inserted: int = connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one()
        return inserted
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
    all_rows = [record_rows(record) for record in records]
    twice = [key for key, count in Counter(map(_key, all_rows)).items() if count > 1]
    if twice:
        cell, block = twice[0]
        raise WirebenchError(f"two records are of block {block} of {cell}", "remove one of them")
    ids = _cell_ids(connection, run)
    _drop(connection, [(ids[cell], block) for cell, block in map(_key, all_rows) if cell in ids])
    if new := {rows.cell["cell"]: {"run": run, **rows.cell} for rows in all_rows if rows.cell["cell"] not in ids}:
        connection.execute(insert(cells), list(new.values()))
        ids = _cell_ids(connection, run)
    of_tables: dict[Table, list[Row]] = {blocks: [], statistics: [], gates: []}
    for rows in all_rows:
        rows.of_cell(ids[rows.cell["cell"]])
        of_tables[blocks].append(rows.block)
        of_tables[statistics] += rows.statistics
        of_tables[gates] += rows.gates
    for table, table_rows in of_tables.items():
        insert_many(connection, table, table_rows)
    return len(all_rows)


def remove_run(connection: Connection, run_id: str) -> None:
    """Remove a run, if it is there, and all that belongs to it."""
    connection.execute(delete(runs).where(runs.c.run_id == run_id))


def analyse(connection: Connection) -> None:
    """Let the database see what is in the tables: without, it finds each page by sorting all cells."""
    for table in TABLES:
        connection.exec_driver_sql(f"ANALYZE {table.name}")


def _key(rows: RecordRows) -> tuple[str, int]:
    return rows.cell["cell"], rows.block["block"]


def _cell_ids(connection: Connection, run: int) -> dict[str, int]:
    """Return the ids of a run's cells by name."""
    return dict(connection.execute(select(cells.c.cell, cells.c.id).where(cells.c.run == run)).all())


def _drop(connection: Connection, keys: Sequence[tuple[int, int]]) -> None:
    """Remove what is there of these cells and blocks."""
    if keys:
        one = delete(blocks).where(blocks.c.cell_id == bindparam("of_cell"), blocks.c.block == bindparam("of_block"))
        connection.execute(one, [{"of_cell": cell_id, "of_block": block} for cell_id, block in keys])
