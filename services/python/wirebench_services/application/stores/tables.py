"""The tables in PostgreSQL, and how a database gets them."""

import functools
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from wirebench_services.application import seed

_CONNECT_ARGS = {"connect_timeout": 3}
#: Lets one process at a time create tables; the number is any that no other program uses.
_LOCK = "SELECT pg_advisory_xact_lock(7242026001)"

metadata = sa.MetaData()
users = sa.Table(
    "users",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("phone", sa.Text),
    sa.Column("address", sa.Text),
    sa.Column("bio", sa.Text),
    sa.Column("tags", sa.ARRAY(sa.Text), nullable=False),
    sa.Column("avatar", sa.LargeBinary),
)
balances = sa.Table(
    "balances",
    metadata,
    sa.Column("account_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("balance_cents", sa.BigInteger, nullable=False),
    sa.Column("transactions", sa.Integer, nullable=False),
)
transactions = sa.Table(
    "transactions",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.BigInteger, nullable=False),
    sa.Column("from_account_id", sa.Integer, nullable=False),
    sa.Column("to_account_id", sa.Integer, nullable=False),
    sa.Column("amount_cents", sa.BigInteger, nullable=False),
    sa.Column("currency", sa.Text, nullable=False),
    sa.Column("reference", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Index("transactions_time", "time", "id"),
)


def create_tables(url: sa.URL, seed_users: int) -> list[str]:
    """Create the tables that are missing and fill them, all or nothing; return their names.

    Processes that start at the same time wait for one another. Raises sqlalchemy.exc.DBAPIError.
    """
    fill = {"users": lambda: seed.users(seed_users), "balances": seed.balances, "transactions": seed.transactions}
    engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args=_CONNECT_ARGS)
    with engine.connect() as connection, connection.begin():
        connection.exec_driver_sql(_LOCK)
        missing = _find_missing(connection)
        metadata.create_all(connection, missing)
        for table in missing:
            _fill(connection, table, fill[table.name]())
    return [table.name for table in missing]


def has_tables(url: sa.URL) -> bool:
    """Return whether all tables are there. Raises sqlalchemy.exc.DBAPIError."""
    with _open_checks(url).connect() as connection:
        return not _find_missing(connection)


@functools.cache
def _open_checks(url: sa.URL) -> sa.Engine:
    """Open a pool that keeps a connection: `/readyz` asks again and again."""
    return sa.create_engine(url, pool_size=1, pool_pre_ping=True, connect_args=_CONNECT_ARGS)


def _find_missing(connection: sa.Connection) -> list[sa.Table]:
    found = sa.inspect(connection).get_table_names()
    return [table for table in metadata.sorted_tables if table.name not in found]


def _fill(connection: sa.Connection, table: sa.Table, rows: Iterable[Any]) -> None:
    # Five times as fast as INSERT. Frozen rows are never vacuumed again, which would disturb a measurement.
    with connection.connection.cursor().copy(f"COPY {table.name} FROM STDIN (FREEZE)") as copy:
        for row in rows:
            copy.write_row([list(value) if isinstance(value, tuple) else value for value in row])
    connection.exec_driver_sql(f"ANALYZE {table.name}")
