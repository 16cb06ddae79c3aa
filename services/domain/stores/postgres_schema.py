"""The schema of a PostgreSQL database: migrations in their order, the data that it starts with, and its version."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psycopg

from services.domain import ledger_seed, seed
from services.domain.ledger import Balance, Transaction
from services.domain.stores.postgres_connection import connect
from services.domain.stores.settings import StoreSettings
from services.domain.users import FIELDS

_FOLDER = Path(__file__).parent / "migrations"
#: Of the advisory lock that lets one process at a time migrate; any number that no other program takes.
_LOCK = 7_242_026_001
_VERSIONS = """
CREATE TABLE IF NOT EXISTS wirebench_schema (
    version integer PRIMARY KEY,
    migrated_at timestamptz NOT NULL DEFAULT now()
)
"""


class SchemaError(Exception):
    """A database whose schema isn't this program's; the message names the next step."""


def migrate(settings: StoreSettings) -> list[str]:
    """Bring the database to this program's schema and data, all or nothing; return the names of what was applied.

    Others that begin at the same time wait, and find it done. Raises SchemaError, psycopg.Error.
    """
    # No time-out: who waits for another one's migration waits for as long as that takes.
    with connect(dataclasses.replace(settings, timeout_s=0)) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(_VERSIONS)
        version = _version(connection)
        _refuse_newer(version)
        pending = _MIGRATIONS[version:]
        for number, (name, fill) in enumerate(pending, start=version + 1):
            connection.execute((_FOLDER / f"{name}.sql").read_bytes())
            fill(connection)
            connection.execute("INSERT INTO wirebench_schema (version) VALUES (%s)", (number,))
        return [name for name, _ in pending]


def check(settings: StoreSettings) -> None:
    """See that the database is there and has this program's schema. Raises SchemaError, psycopg.Error."""
    with connect(settings) as connection:
        if connection.execute("SELECT to_regclass('wirebench_schema')").fetchone() == (None,):
            raise SchemaError("the database has no tables of wirebench's; run: wirebench-store migrate")
        version = _version(connection)
    _refuse_newer(version)
    if version < len(_MIGRATIONS):
        raise SchemaError(
            f"the database's schema has version {version}, this program's {len(_MIGRATIONS)}; "
            "run: wirebench-store migrate"
        )


def _version(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT max(version) FROM wirebench_schema").fetchone()
    return row[0] or 0 if row else 0


def _refuse_newer(version: int) -> None:
    if version > len(_MIGRATIONS):
        raise SchemaError(
            f"the database's schema has version {version}, newer than this program's {len(_MIGRATIONS)}; "
            "use a newer program, or another database"
        )


def _fill_users(connection: psycopg.Connection) -> None:
    rows = ([list(each.tags) if name == "tags" else getattr(each, name) for name in FIELDS] for each in seed.users())
    _copy(connection, "users", FIELDS, rows)


def _fill_ledger(connection: psycopg.Connection) -> None:
    _copy(connection, "balances", Balance._fields, ledger_seed.balances())
    _copy(connection, "transactions", Transaction._fields, ledger_seed.transactions())


def _copy(connection: psycopg.Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    # Frozen, as the table is as new as its rows: nobody has to go over them again while something is measured.
    with connection.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FREEZE)".encode()) as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(f"ANALYZE {table}".encode())


#: The names of files, and what fills the tables that each makes; only ever appended to.
_MIGRATIONS: tuple[tuple[str, Callable[[psycopg.Connection], None]], ...] = (
    ("0001_users", _fill_users),
    ("0002_ledger", _fill_ledger),
)
