"""Users and the ledger in a SQLite file: shared by the processes of one machine."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from services.domain import ledger_seed
from services.domain.errors import AlreadyExists, NotFound
from services.domain.ledger import Balance, Transaction
from services.domain.stores import sqlite_ledger
from services.domain.users import FIELDS, Fields, User

_COLUMNS = ", ".join(FIELDS)
_PLACES = ", ".join("?" for _ in FIELDS)
_SCHEMA = """
CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    phone TEXT,
    address TEXT,
    bio TEXT,
    tags TEXT NOT NULL,
    avatar BLOB
)
"""
_BUSY_TIMEOUT_S = 10.0


class SqliteStore:
    """A SQLite file in WAL mode, so that readers and one writer don't wait for each other."""

    asynchronous = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()

    @classmethod
    def prepare(cls, path: Path, users: Iterable[User]) -> None:
        """Create the file with its tables, first users and ledger, unless it has them already."""
        connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            exists = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'users'").fetchone()
            if not exists:
                connection.execute(_SCHEMA)
                connection.executemany(_INSERT, map(_row, users))
            sqlite_ledger.create(connection, ledger_seed.balances(), ledger_seed.transactions())
            connection.execute("COMMIT")
        finally:
            connection.close()

    def get(self, user_id: int) -> User:
        """Return the user. Raises NotFound."""
        return _user(self._connection().execute(_SELECT_ONE, (user_id,)).fetchone())

    def add(self, user: User) -> User:
        """Add the user and return it. Raises AlreadyExists."""
        self.add_all((user,))
        return user

    def add_all(self, users: Sequence[User]) -> Sequence[User]:
        """Add all users and return them, or add none. Raises AlreadyExists, with the taken ids."""
        connection = self._connection()
        with _Writing(connection):
            try:
                connection.executemany(_INSERT, map(_row, users))
            except sqlite3.IntegrityError:
                connection.execute("ROLLBACK")
                raise AlreadyExists.users(self._taken(users)) from None
        return users

    def change(self, user_id: int, changes: Fields) -> User:
        """Replace the given fields of a user and return it. Raises NotFound."""
        # The names come from User's fields, never from a request: validation refuses all others.
        assignments = ", ".join(f"{name} = ?" for name in changes)
        values = [_column(name, value) for name, value in changes.items()]
        sql = f"UPDATE users SET {assignments} WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608
        return self._write_one(sql, (*values, user_id))

    def remove(self, user_id: int) -> User:
        """Remove the user and return it as it was. Raises NotFound."""
        return self._write_one(_DELETE, (user_id,))

    def page(self, after_id: int, limit: int) -> list[User]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""
        return list(map(_user, self._connection().execute(_SELECT_PAGE, (after_id, limit or -1))))

    def balance(self, account_id: int) -> Balance:
        """Return what an account holds. Raises NotFound."""
        return sqlite_ledger.balance(self._connection(), account_id)

    def transactions(self, since_s: int, after_id: int, limit: int) -> list[Transaction]:
        """Return the first `limit` transactions of the Unix second or later with ids over `after_id`."""
        return sqlite_ledger.transactions(self._connection(), since_s, after_id, limit)

    def close(self) -> None:
        """Close this thread's connection; those of other threads go with their threads."""
        connection = self._local.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def _connection(self) -> sqlite3.Connection:
        # One connection a thread, opened on first use: connections must not cross a fork.
        connection: sqlite3.Connection | None = self._local.__dict__.get("connection")
        if connection is None:
            connection = sqlite3.connect(self._path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            connection.execute("PRAGMA synchronous = NORMAL")
            self._local.connection = connection
        return connection

    def _write_one(self, sql: str, values: tuple[Any, ...]) -> User:
        connection = self._connection()
        with _Writing(connection):
            return _user(connection.execute(sql, values).fetchone())

    def _taken(self, users: Sequence[User]) -> list[int]:
        connection = self._connection()
        return [user.id for user in users if connection.execute(_SELECT_ONE, (user.id,)).fetchone()]


class _Writing:
    """A transaction that takes the write lock at once, and so can't fail half-way with SQLITE_BUSY."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK" if kind else "COMMIT")


_INSERT = f"INSERT INTO users ({_COLUMNS}) VALUES ({_PLACES})"  # noqa: S608 - constants only
_SELECT_ONE = f"SELECT {_COLUMNS} FROM users WHERE id = ?"  # noqa: S608
_SELECT_PAGE = f"SELECT {_COLUMNS} FROM users WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608
_DELETE = f"DELETE FROM users WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608


def _column(name: str, value: object) -> object:
    return json.dumps(value) if name == "tags" else value


def _row(user: User) -> tuple[object, ...]:
    return tuple(_column(name, getattr(user, name)) for name in FIELDS)


def _user(row: tuple[Any, ...] | None) -> User:
    if row is None:
        raise NotFound.user()
    fields = dict(zip(FIELDS, row, strict=True))
    return User(**{**fields, "tags": tuple(json.loads(fields["tags"]))})
