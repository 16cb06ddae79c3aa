"""Users and the ledger in PostgreSQL, shared by all workers and replicas: by threads, or by an event loop."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from wirebench_services import metrics
from wirebench_services.application.errors import AlreadyExists, NotFound, Unavailable
from wirebench_services.application.ledger import Balance, Transaction
from wirebench_services.application.users import FIELDS, User

# At its own level the pool logs each attempt to connect while the server is away.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

_COLUMNS = ", ".join(FIELDS)
_INSERT = f"""
    INSERT INTO users ({_COLUMNS}) VALUES ({", ".join("%s" for _ in FIELDS)})
    ON CONFLICT DO NOTHING RETURNING id
"""  # noqa: S608 - constants only
# In the order of ids, so that two batches with common ids can't deadlock.
_INSERT_ALL = f"""
    INSERT INTO users ({_COLUMNS}) SELECT {_COLUMNS} FROM json_populate_recordset(NULL::users, %s) ORDER BY id
    ON CONFLICT DO NOTHING RETURNING id
"""  # noqa: S608
_SELECT_USER = f"SELECT {_COLUMNS} FROM users WHERE id = %s"  # noqa: S608
_SELECT_USERS = f"SELECT {_COLUMNS} FROM users WHERE id > %s ORDER BY id LIMIT %s"  # noqa: S608
_DELETE = f"DELETE FROM users WHERE id = %s RETURNING {_COLUMNS}"  # noqa: S608
_SELECT_BALANCE = f"SELECT {', '.join(Balance._fields)} FROM balances WHERE account_id = %s"  # noqa: S608
# The first id of that second is one step in the index. If there is none, it is NULL and no id is equal or greater.
_SELECT_TRANSACTIONS = f"""
    SELECT {", ".join(Transaction._fields)} FROM transactions
    WHERE id > %s AND id >= (SELECT id FROM transactions WHERE time >= %s ORDER BY time, id LIMIT 1)
    ORDER BY id LIMIT %s
"""  # noqa: S608

Row = tuple[Any, ...]


class Query(NamedTuple):
    """A statement, its values, and the function that makes the result of its rows."""

    statement: str
    values: Sequence[object]
    to_result: Callable[[list[Row]], Any]
    #: Whether nothing is kept if `to_result` raises.
    in_transaction: bool = False


class _PostgresStore:
    """The store's methods as queries; `_run` of the subclasses returns the result, or an awaitable of it."""

    _run: Callable[[Query], Any]

    def get_user(self, user_id: int) -> Any:
        return self._run(Query(_SELECT_USER, (user_id,), _to_one_user))

    def add_user(self, user: User) -> Any:
        def check(rows: list[Row]) -> User:
            if not rows:
                raise AlreadyExists.users((user.id,))
            return user

        return self._run(Query(_INSERT, [_to_column(getattr(user, name)) for name in FIELDS], check))

    def add_users(self, users: list[User]) -> Any:
        def check(rows: list[Row]) -> list[User]:
            if len(rows) < len(users):
                raise AlreadyExists.users({user.id for user in users} - {user_id for (user_id,) in rows})
            return users

        return self._run(Query(_INSERT_ALL, (_to_json(users),), check, in_transaction=True))

    def change_user(self, user_id: int, changes: Mapping[str, Any]) -> Any:
        # The names are those of User's fields: validation rejects all others.
        assignments = ", ".join(f"{name} = %s" for name in changes)
        statement = f"UPDATE users SET {assignments} WHERE id = %s RETURNING {_COLUMNS}"  # noqa: S608
        return self._run(Query(statement, (*map(_to_column, changes.values()), user_id), _to_one_user))

    def remove_user(self, user_id: int) -> Any:
        return self._run(Query(_DELETE, (user_id,), _to_one_user))

    def list_users(self, after_id: int, limit: int) -> Any:
        return self._run(Query(_SELECT_USERS, (after_id, limit or None), lambda rows: list(map(_to_user, rows))))

    def get_balance(self, account_id: int) -> Any:
        return self._run(Query(_SELECT_BALANCE, (account_id,), _to_balance))

    def list_transactions(self, since_s: int, after_id: int, limit: int) -> Any:
        values = (after_id, since_s, limit)
        return self._run(Query(_SELECT_TRANSACTIONS, values, lambda rows: list(map(Transaction._make, rows))))


class PostgresStore(_PostgresStore):
    """For threads."""

    def __init__(self, url: str, connections: int, timeout_s: float) -> None:
        self._pool = ConnectionPool(url, open=True, **_make_pool_options(connections, timeout_s))

    def close(self) -> None:
        self._pool.close()

    def _run(self, query: Query) -> Any:
        begun_s = time.perf_counter()
        with _translate_errors(), self._pool.connection() as connection:
            metrics.STORE_WAIT.observe(time.perf_counter() - begun_s)
            with connection.transaction() if query.in_transaction else contextlib.nullcontext():
                cursor = connection.execute(query.statement.encode(), query.values, binary=True)
                return query.to_result(cursor.fetchall())


class AsyncPostgresStore(_PostgresStore):
    """For an event loop: what the methods return is awaited."""

    def __init__(self, url: str, connections: int, timeout_s: float) -> None:
        self._pool = AsyncConnectionPool(url, open=False, **_make_pool_options(connections, timeout_s))

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    async def _run(self, query: Query) -> Any:
        begun_s = time.perf_counter()
        with _translate_errors():
            async with self._pool.connection() as connection:
                metrics.STORE_WAIT.observe(time.perf_counter() - begun_s)
                async with connection.transaction() if query.in_transaction else contextlib.nullcontext():
                    cursor = await connection.execute(query.statement.encode(), query.values, binary=True)
                    return query.to_result(await cursor.fetchall())


def _make_pool_options(connections: int, timeout_s: float) -> dict[str, Any]:
    timeout_ms = int(timeout_s * 1000)
    return {
        "kwargs": {
            # A statement commits by itself: no BEGIN and COMMIT of their own.
            "autocommit": True,
            "application_name": "wirebench",
            "options": f"-c statement_timeout={timeout_ms}",
            # A server that vanished with its machine.
            "tcp_user_timeout": timeout_ms,
        },
        "min_size": 1,
        "max_size": connections,
        "timeout": timeout_s,
        # While the server is away each request tries again: the pool's own pauses would outlast the outage.
        "reconnect_timeout": 0.0,
    }


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn errors of the connection, the server and the pool into Unavailable; all others are bugs."""
    try:
        yield
    except psycopg.errors.QueryCanceled:
        raise Unavailable("The store took too long. Try again later.") from None
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.UndefinedTable, PoolTimeout):
        raise Unavailable("The store is unavailable. Try again later.") from None


def _to_column(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _to_json(users: list[User]) -> str:
    def to_row(user: User) -> dict[str, object]:
        avatar = None if user.avatar is None else f"\\x{user.avatar.hex()}"
        return {**{name: getattr(user, name) for name in FIELDS}, "avatar": avatar}

    return orjson.dumps(list(map(to_row, users))).decode()


def _to_user(row: Row) -> User:
    user_id, name, email, phone, address, bio, tags, avatar = row  # in the order of FIELDS
    return User(user_id, name, email, phone, address, bio, tuple(tags), avatar)


def _to_one_user(rows: list[Row]) -> User:
    if not rows:
        raise NotFound("User not found.")
    return _to_user(rows[0])


def _to_balance(rows: list[Row]) -> Balance:
    if not rows:
        raise NotFound("Account not found.")
    return Balance._make(rows[0])
