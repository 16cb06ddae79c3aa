"""The tables of a PostgreSQL database: migrations in their order, and the data that they start with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from wirebench_services.application import seed
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import FIELDS

_FOLDER = Path(__file__).parent / "migrations"
_CONNECT_TIMEOUT_S = 3
#: The advisory lock that lets one process at a time migrate; any number that no other program uses.
_LOCK = 7_242_026_001
_VERSIONS = """
CREATE TABLE IF NOT EXISTS wirebench_schema (
    version integer PRIMARY KEY,
    migrated_at timestamptz NOT NULL DEFAULT now()
)
"""


class SchemaError(Exception):
    """A database whose schema this program can't use; the message names the next step."""


def check_url(url: str) -> None:
    """Raise ValueError if this is no connection URL; the message quotes nothing of it."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # may quote the password
        parts = {}
    if not url.startswith(("postgresql://", "postgres://")) or not parts.get("dbname"):
        raise ValueError("is not a URL of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE")


def migrate(url: str, seed_users: int) -> list[str]:
    """Create or upgrade the tables and fill new ones, all or nothing; return the names of the applied migrations.

    Processes that start at the same time wait for one another. Raises SchemaError, psycopg.Error.
    """
    with _connect(url) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(_VERSIONS)
        version = _read_version(connection)
        pending = _MIGRATIONS[version:]
        for number, (name, fill) in enumerate(pending, start=version + 1):
            connection.execute((_FOLDER / f"{name}.sql").read_bytes())
            fill(connection, seed_users)
            connection.execute("INSERT INTO wirebench_schema (version) VALUES (%s)", (number,))
        return [name for name, _ in pending]


def check(url: str) -> None:
    """Check that the database has this program's schema. Raises SchemaError, psycopg.Error."""
    with _connect(url) as connection:
        if connection.execute("SELECT to_regclass('wirebench_schema')").fetchone() == (None,):
            raise SchemaError("the database has no wirebench tables; run: wirebench-store migrate")
        version = _read_version(connection)
    if version < len(_MIGRATIONS):
        raise SchemaError(
            f"the database's schema has version {version}, this program needs {len(_MIGRATIONS)}; "
            "run: wirebench-store migrate"
        )


def _connect(url: str) -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_S, application_name="wirebench")


def _read_version(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT max(version) FROM wirebench_schema").fetchone()
    version = row[0] or 0 if row else 0
    if version > len(_MIGRATIONS):
        raise SchemaError(
            f"the database's schema has version {version}, newer than this program's {len(_MIGRATIONS)}; "
            "use a newer program, or another database"
        )
    return version


def _fill_users(connection: psycopg.Connection, seed_users: int) -> None:
    rows = (
        [list(user.tags) if name == "tags" else getattr(user, name) for name in FIELDS]
        for user in seed.users(seed_users)
    )
    _copy(connection, "users", FIELDS, rows)


def _fill_ledger(connection: psycopg.Connection, _seed_users: int) -> None:
    _copy(connection, "balances", Balance._fields, seed.balances())
    _copy(connection, "transactions", Transaction._fields, seed.transactions())


def _copy(connection: psycopg.Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    # Frozen rows are never vacuumed again, which would disturb a measurement.
    with connection.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN (FREEZE)".encode()) as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(f"ANALYZE {table}".encode())


#: Names of files, and the functions that fill their tables. Only append.
_MIGRATIONS: tuple[tuple[str, Callable[[psycopg.Connection, int], None]], ...] = (
    ("0001_users", _fill_users),
    ("0002_ledger", _fill_ledger),
)
