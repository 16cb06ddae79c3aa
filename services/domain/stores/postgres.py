"""Users and ledger in PostgreSQL: shared by all workers and replicas.

The statements are the same for both stores here: what differs is whether a connection is waited for or awaited.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson
import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from services.domain.answers import Answer
from services.domain.errors import AlreadyExists, NotFound
from services.domain.ledger import Balance, Transaction
from services.domain.stores.postgres_connection import options, still_there, translated
from services.domain.stores.settings import StoreSettings
from services.domain.users import FIELDS, Fields, User

log = logging.getLogger(__name__)
# It would log each connection that is taken, and each attempt to make one while the server is away.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)

#: How long an operation waits for a connection while none can be made: long enough to make one if the server is back.
_AWAY_PATIENCE_S = 0.5

_COLUMNS = ", ".join(FIELDS)
_INSERT = f"""
    INSERT INTO users ({_COLUMNS}) VALUES ({", ".join("%s" for _ in FIELDS)})
    ON CONFLICT DO NOTHING RETURNING id
"""  # noqa: S608 - constants only
# In the order of ids, so that two batches which share some wait for each other, and not each for the other.
_INSERT_ALL = f"""
    INSERT INTO users ({_COLUMNS}) SELECT {_COLUMNS} FROM json_populate_recordset(NULL::users, %s) ORDER BY id
    ON CONFLICT DO NOTHING RETURNING id
"""  # noqa: S608
_SELECT_ONE = f"SELECT {_COLUMNS} FROM users WHERE id = %s"  # noqa: S608
_SELECT_PAGE = f"SELECT {_COLUMNS} FROM users WHERE id > %s ORDER BY id LIMIT %s"  # noqa: S608
_DELETE = f"DELETE FROM users WHERE id = %s RETURNING {_COLUMNS}"  # noqa: S608
_SELECT_BALANCE = f"SELECT {', '.join(Balance._fields)} FROM balances WHERE account_id = %s"  # noqa: S608
# The first id of the time is one step in its index. Where there is none, it is NULL, and no id is equal or greater.
_SELECT_TRANSACTIONS = f"""
    SELECT {", ".join(Transaction._fields)} FROM transactions
    WHERE id > %s AND id >= (SELECT id FROM transactions WHERE time >= %s ORDER BY time, id LIMIT 1)
    ORDER BY id LIMIT %s
"""  # noqa: S608

T = TypeVar("T")
Row = tuple[Any, ...]
Rows = list[Row]


class _Statements:
    """What is asked of the database, and what its rows mean; `_ask` is the subclasses'."""

    def __init__(self) -> None:
        self._is_away = False

    def get(self, user_id: int) -> Answer[User]:
        """Return the user. Raises NotFound."""
        return self._ask(_SELECT_ONE, (user_id,), _one_user)

    def add(self, user: User) -> Answer[User]:
        """Add the user and return it. Raises AlreadyExists."""

        def added(rows: Rows) -> User:
            if not rows:
                raise AlreadyExists.users((user.id,))
            return user

        return self._ask(_INSERT, [_column(getattr(user, name)) for name in FIELDS], added)

    def add_all(self, users: Sequence[User]) -> Answer[Sequence[User]]:
        """Add all users and return them, or add none. Raises AlreadyExists, with the taken ids."""

        def added(rows: Rows) -> Sequence[User]:
            if len(rows) < len(users):  # what was added isn't kept
                raise AlreadyExists.users({user.id for user in users} - {user_id for (user_id,) in rows})
            return users

        return self._ask(_INSERT_ALL, (_json(users),), added, atomic=True)

    def change(self, user_id: int, changes: Fields) -> Answer[User]:
        """Replace the given fields of a user and return it. Raises NotFound."""
        # The names come from User's fields, never from a request: validation refuses all others.
        assignments = ", ".join(f"{name} = %s" for name in changes)
        statement = f"UPDATE users SET {assignments} WHERE id = %s RETURNING {_COLUMNS}"  # noqa: S608
        return self._ask(statement, (*map(_column, changes.values()), user_id), _one_user)

    def remove(self, user_id: int) -> Answer[User]:
        """Remove the user and return it as it was. Raises NotFound."""
        return self._ask(_DELETE, (user_id,), _one_user)

    def page(self, after_id: int, limit: int) -> Answer[Sequence[User]]:
        """Return at most `limit` users (0: all) with ids over `after_id`, in the order of their ids."""
        return self._ask(_SELECT_PAGE, (after_id, limit or None), lambda rows: [_user(row) for row in rows])

    def balance(self, account_id: int) -> Answer[Balance]:
        """Return what an account holds. Raises NotFound."""
        return self._ask(_SELECT_BALANCE, (account_id,), _one_balance)

    def transactions(self, since_s: int, after_id: int, limit: int) -> Answer[Sequence[Transaction]]:
        """Return the first `limit` transactions of the Unix second or later with ids over `after_id`."""
        values = (after_id, since_s, limit)
        return self._ask(_SELECT_TRANSACTIONS, values, lambda rows: [Transaction._make(row) for row in rows])

    def _ask(
        self, statement: str, values: Sequence[object], result: Callable[[Rows], T], *, atomic: bool = False
    ) -> Answer[T]:
        """Execute a statement and return the result of its rows; if `atomic`, nothing is kept where that fails."""
        raise NotImplementedError

    @property
    def _patience_s(self) -> float | None:
        return _AWAY_PATIENCE_S if self._is_away else None

    def _note_away(self, pool: ConnectionPool | AsyncConnectionPool) -> None:
        # Where others are left, the server is there, and lets us have no more of them.
        if not self._is_away and not pool.get_stats()["pool_size"]:
            self._is_away = True
            log.warning("PostgreSQL can't be reached; operations fail until it is back")

    def _note_back(self) -> None:
        if self._is_away:
            self._is_away = False
            log.warning("PostgreSQL is back")


class PostgresStore(_Statements):
    """For threads."""

    asynchronous = False

    def __init__(self, settings: StoreSettings) -> None:
        super().__init__()
        self._pool = ConnectionPool(
            settings.url,
            open=True,
            configure=lambda _: self._note_back(),
            check=self._check,
            reconnect_failed=self._note_away,
            num_workers=1,
            **_pool_options(settings),
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _ask(self, statement: str, values: Sequence[object], result: Callable[[Rows], T], *, atomic: bool = False) -> T:
        with (
            translated(),
            self._pool.connection(self._patience_s) as connection,
            connection.transaction() if atomic else contextlib.nullcontext(),
        ):
            return result(connection.execute(statement.encode(), values, binary=True).fetchall())

    def _check(self, connection: psycopg.Connection) -> None:
        try:
            still_there(connection)
        except psycopg.OperationalError:
            self._pool.drain()  # what ended this one has ended all
            raise


class AsyncPostgresStore(_Statements):
    """For an event loop, in which it has to be entered before it is asked."""

    asynchronous = True

    def __init__(self, settings: StoreSettings) -> None:
        super().__init__()
        self._pool = AsyncConnectionPool(
            settings.url,
            open=False,
            configure=self._configure,
            check=self._check,
            reconnect_failed=self._note_away,
            **_pool_options(settings),
        )

    async def __aenter__(self) -> None:
        await self._pool.open()

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    def close(self) -> None:
        """Hold nothing open outside of the loop."""

    async def _ask(
        self, statement: str, values: Sequence[object], result: Callable[[Rows], T], *, atomic: bool = False
    ) -> T:
        with translated():
            async with (
                self._pool.connection(self._patience_s) as connection,
                connection.transaction() if atomic else contextlib.nullcontext(),
            ):
                cursor = await connection.execute(statement.encode(), values, binary=True)
                return result(await cursor.fetchall())

    async def _configure(self, _: psycopg.AsyncConnection) -> None:
        self._note_back()

    async def _check(self, connection: psycopg.AsyncConnection) -> None:
        try:
            still_there(connection)
        except psycopg.OperationalError:
            await self._pool.drain()
            raise


def _pool_options(settings: StoreSettings) -> dict[str, Any]:
    return {
        "kwargs": options(settings),
        "min_size": 1,
        "max_size": settings.connections,
        "timeout": settings.timeout_s,
        # While the server is away, each operation tries anew: a pause of the pool's own would outlast the outage.
        "reconnect_timeout": 0.0,
    }


def _column(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _json(users: Sequence[User]) -> str:
    def row(user: User) -> dict[str, object]:
        avatar = None if user.avatar is None else f"\\x{user.avatar.hex()}"
        return {**{name: getattr(user, name) for name in FIELDS}, "avatar": avatar}

    return orjson.dumps(list(map(row, users))).decode()


def _user(row: Row) -> User:
    user_id, name, email, phone, address, bio, tags, avatar = row  # as FIELDS
    return User(user_id, name, email, phone, address, bio, tuple(tags), avatar)


def _one_user(rows: Rows) -> User:
    if not rows:
        raise NotFound.user()
    return _user(rows[0])


def _one_balance(rows: Rows) -> Balance:
    if not rows:
        raise NotFound.account()
    return Balance._make(rows[0])
