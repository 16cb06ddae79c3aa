"""What SQLite has to be told: how to share its file, how to begin, and what to do with one that is damaged."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

from sqlalchemy import Connection

from wirebench.store.index.url import FILE_NAME

#: Where a connection says by which statement its next transaction begins.
BEGIN = "begin"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PRIMARY_CODE = 0xFF
#: What such a file begins with. https://www.sqlite.org/fileformat.html#magic_header_string
_MAGIC = b"SQLite format 3\0"


def prepare(connection: sqlite3.Connection, _record: object) -> None:
    """Let readers read during a write, and rows refer to rows that are there."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # after a power cut the last records may have to be caught up
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA analysis_limit = 400")  # rows of each index: ANALYZE takes milliseconds
    try:
        connection.execute("SELECT exp(ln(1.0))")
    except sqlite3.OperationalError:  # built without mathematics
        connection.create_function("exp", 1, math.exp, deterministic=True)
        connection.create_function("ln", 1, _compute_ln, deterministic=True)


def _compute_ln(value: float | None) -> float | None:
    return math.log(value) if value is not None and value > 0 else None


def begin(connection: Connection) -> None:
    """Begin as we mean it: pysqlite would begin a transaction only at its first change."""
    connection.exec_driver_sql(connection.info.get(BEGIN, "BEGIN"))


def says_damaged(error: BaseException | None) -> bool:
    """Say whether an error is that of a file that is no database, or none any more."""
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE in _DAMAGED


def is_for_an_index(path: Path) -> bool:
    """Say whether a file is, or was, a database, or has the name of an index. Raises OSError."""
    if path.name == FILE_NAME:
        return True
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def remove(path: Path) -> None:
    """Remove a database with its files. Raises OSError."""
    for suffix in ("", "-wal", "-shm"):  # they would be taken for those of the next one
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
