"""Many rows of plain values at once: past SQLAlchemy's own way, which would take most of the time of a rebuild."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.exc import DBAPIError

from wirebench.index.rows import Row


def insert_many(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows that have a value for every column, of a type that the database's driver knows."""
    if not rows:
        return
    names = [column.name for column in table.c]
    values = map(itemgetter(*names), rows)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table.name} ({', '.join(names)}) FROM STDIN", values)
    else:
        connection.exec_driver_sql(str(insert(table).compile(connection)), list(values))


def _copy(connection: Connection, statement: str, values: Iterable[tuple[Any, ...]]) -> None:
    """Send the rows as PostgreSQL takes them fastest."""
    import psycopg  # noqa: PLC0415 - who has SQLite doesn't wait for it

    try:
        with closing(connection.connection.cursor()) as cursor, cursor.copy(statement) as copy:
            for row in values:
                copy.write_row(row)
    except psycopg.Error as error:
        raise DBAPIError.instance(statement, None, error, psycopg.Error) from error
