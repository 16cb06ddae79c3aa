"""The tables in PostgreSQL, and how a database gets them."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from wirebench_services.application import seed

#: Lets one process at a time create tables; the number is any that no other program uses.
_LOCK = "SELECT pg_advisory_xact_lock(7242026001)"

#: Their columns are those of the messages of the contract, in that order.
TABLES = {
    "balances": """
        account_id integer PRIMARY KEY, owner text NOT NULL, currency text NOT NULL,
        balance_cents bigint NOT NULL, transactions integer NOT NULL""",
    "transactions": """
        id integer PRIMARY KEY, time bigint NOT NULL, from_account_id integer NOT NULL, to_account_id integer NOT NULL,
        amount_cents bigint NOT NULL, currency text NOT NULL, reference text NOT NULL, description text NOT NULL""",
    "users": """
        id integer PRIMARY KEY, name text NOT NULL, email text NOT NULL, phone text, address text, bio text,
        tags text[] NOT NULL, avatar bytea""",
}
_INDEX = "CREATE INDEX IF NOT EXISTS transactions_time ON transactions (time, id)"


def create_tables(url: sa.URL, seed_users: int) -> list[str]:
    """Create the tables that are missing and fill them, all or nothing; return their names.

    Processes that start at the same time wait for one another. Raises sqlalchemy.exc.DBAPIError.
    """
    fill = {"users": lambda: seed.users(seed_users), "balances": seed.balances, "transactions": seed.transactions}
    with _open(url).connect() as connection, connection.begin():
        connection.exec_driver_sql(_LOCK)
        missing = _find_missing(connection)
        for name in missing:
            connection.exec_driver_sql(f"CREATE TABLE {name} ({TABLES[name]})")
            _fill(connection, name, fill[name]())
        connection.exec_driver_sql(_INDEX)
    return missing


def has_tables(url: sa.URL) -> bool:
    """Return whether all tables are there. Raises sqlalchemy.exc.DBAPIError."""
    with _open(url).connect() as connection:
        return not _find_missing(connection)


def _open(url: sa.URL) -> sa.Engine:
    return sa.create_engine(url, poolclass=sa.NullPool, connect_args={"connect_timeout": 3})


def _find_missing(connection: sa.Connection) -> list[str]:
    found = sa.inspect(connection).get_table_names()
    return [name for name in TABLES if name not in found]


def _fill(connection: sa.Connection, table: str, rows: Iterable[Any]) -> None:
    # Five times as fast as INSERT. Frozen rows are never vacuumed again, which would disturb a measurement.
    with connection.connection.cursor().copy(f"COPY {table} FROM STDIN (FREEZE)") as copy:
        for row in rows:
            copy.write_row([list(value) if isinstance(value, tuple) else value for value in row])
    connection.exec_driver_sql(f"ANALYZE {table}")
