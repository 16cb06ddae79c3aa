"""Users and the ledger in a SQLite file, shared by the processes of one machine."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wirebench_services.application import seed
from wirebench_services.application.errors import AlreadyExists, NotFound
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import FIELDS, User

_COLUMNS = ", ".join(FIELDS)
_PLACES = ", ".join("?" for _ in FIELDS)
_SCHEMA = (
    """CREATE TABLE users (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, phone TEXT, address TEXT, bio TEXT,
        tags TEXT NOT NULL, avatar BLOB
    )""",
    """CREATE TABLE balances (
        account_id INTEGER PRIMARY KEY, owner TEXT NOT NULL, currency TEXT NOT NULL, balance_cents INTEGER NOT NULL,
        transactions INTEGER NOT NULL
    )""",
    """CREATE TABLE transactions (
        id INTEGER PRIMARY KEY, time INTEGER NOT NULL, from_account_id INTEGER NOT NULL,
        to_account_id INTEGER NOT NULL, amount_cents INTEGER NOT NULL, currency TEXT NOT NULL,
        reference TEXT NOT NULL, description TEXT NOT NULL
    )""",
    "CREATE INDEX transactions_time ON transactions (time)",
)
_BUSY_TIMEOUT_S = 10.0
_INSERT_USER = f"INSERT INTO users ({_COLUMNS}) VALUES ({_PLACES})"  # noqa: S608 - constants only
_SELECT_USER = f"SELECT {_COLUMNS} FROM users WHERE id = ?"  # noqa: S608
_SELECT_USERS = f"SELECT {_COLUMNS} FROM users WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608
_DELETE_USER = f"DELETE FROM users WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608
_SELECT_BALANCE = f"SELECT {', '.join(Balance._fields)} FROM balances WHERE account_id = ?"  # noqa: S608
# The first id of that second is one step in the index. If there is none, max() is NULL and no id is greater.
_SELECT_TRANSACTIONS = f"""
    SELECT {", ".join(Transaction._fields)} FROM transactions
    WHERE id > max(?, (SELECT id FROM transactions WHERE time >= ? ORDER BY time, id LIMIT 1) - 1)
    ORDER BY id LIMIT ?
"""  # noqa: S608


class SqliteStore:
    """A SQLite file in WAL mode, in which readers and one writer don't wait for each other."""

    def __init__(self, path: Path, users: Iterable[User]) -> None:
        """Create and fill the tables, unless they exist."""
        self._path = path
        self._local = threading.local()
        with contextlib.closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            with _transaction(connection):
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'users'").fetchone():
                    _create_tables(connection, users)

    def get_user(self, user_id: int) -> User:
        return _to_user(self._connection().execute(_SELECT_USER, (user_id,)).fetchone())

    def add_user(self, user: User) -> User:
        self.add_users([user])
        return user

    def add_users(self, users: list[User]) -> list[User]:
        connection = self._connection()
        with _transaction(connection):
            try:
                connection.executemany(_INSERT_USER, map(_to_row, users))
            except sqlite3.IntegrityError:
                connection.execute("ROLLBACK")
                taken = [user.id for user in users if connection.execute(_SELECT_USER, (user.id,)).fetchone()]
                raise AlreadyExists.users(taken) from None
        return users

    def change_user(self, user_id: int, changes: Mapping[str, Any]) -> User:
        # The names are those of User's fields: validation rejects all others.
        assignments = ", ".join(f"{name} = ?" for name in changes)
        statement = f"UPDATE users SET {assignments} WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608
        return self._write(statement, (*(_to_column(name, value) for name, value in changes.items()), user_id))

    def remove_user(self, user_id: int) -> User:
        return self._write(_DELETE_USER, (user_id,))

    def list_users(self, after_id: int, limit: int) -> list[User]:
        return list(map(_to_user, self._connection().execute(_SELECT_USERS, (after_id, limit or -1))))

    def get_balance(self, account_id: int) -> Balance:
        row = self._connection().execute(_SELECT_BALANCE, (account_id,)).fetchone()
        if row is None:
            raise NotFound("Account not found.")
        return Balance._make(row)

    def list_transactions(self, since_s: int, after_id: int, limit: int) -> Sequence[Transaction]:
        rows = self._connection().execute(_SELECT_TRANSACTIONS, (after_id, since_s, limit))
        return list(map(Transaction._make, rows))

    def close(self) -> None:
        """Close this thread's connection; those of other threads are closed with their threads."""
        if hasattr(self._local, "connection"):
            self._local.connection.close()
            del self._local.connection

    def _connection(self) -> sqlite3.Connection:
        # One connection a thread, opened at first use: connections must not cross a fork.
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
        connection: sqlite3.Connection = self._local.connection
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _write(self, statement: str, values: tuple[Any, ...]) -> User:
        connection = self._connection()
        with _transaction(connection):
            return _to_user(connection.execute(statement, values).fetchone())


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Take the write lock at once, so that the transaction can't fail half-way with SQLITE_BUSY."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _create_tables(connection: sqlite3.Connection, users: Iterable[User]) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.executemany(_INSERT_USER, map(_to_row, users))
    connection.executemany("INSERT INTO balances VALUES (?, ?, ?, ?, ?)", seed.balances())
    connection.executemany("INSERT INTO transactions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", seed.transactions())


def _to_column(name: str, value: object) -> object:
    return json.dumps(value) if name == "tags" else value


def _to_row(user: User) -> tuple[object, ...]:
    return tuple(_to_column(name, getattr(user, name)) for name in FIELDS)


def _to_user(row: tuple[Any, ...] | None) -> User:
    if row is None:
        raise NotFound("User not found.")
    user_id, name, email, phone, address, bio, tags, avatar = row  # in the order of FIELDS
    return User(user_id, name, email, phone, address, bio, tuple(json.loads(tags)), avatar)
