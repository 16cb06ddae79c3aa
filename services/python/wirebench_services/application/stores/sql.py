"""Users and the ledger in PostgreSQL, by SQLAlchemy: for threads, and for an event loop."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from wirebench_services.application.errors import OperationError
from wirebench_services.application.stores import queries
from wirebench_services.settings import Settings, read_store_url

#: SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html
_QUERY_CANCELED, _UNDEFINED_TABLE = "57014", "42P01"


class SqlStore:
    """For threads: its methods are the functions of `queries`."""

    def __init__(self, settings: Settings) -> None:
        self._engine = sa.create_engine(**_make_options(settings))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(self._run, getattr(queries, name))

    def close(self) -> None:
        self._engine.dispose()

    def _run(self, query: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - what the query returns
        with _translate_errors(), self._engine.connect() as connection:
            return query(connection, *arguments)


class AsyncSqlStore:
    """For an event loop: its methods are the functions of `queries`, to be awaited."""

    def __init__(self, settings: Settings) -> None:
        self._engine = create_async_engine(**_make_options(settings))

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        return functools.partial(self._run, getattr(queries, name))

    async def close(self) -> None:
        await self._engine.dispose()

    async def _run(self, query: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        with _translate_errors():
            async with self._engine.connect() as connection:
                return await connection.run_sync(query, *arguments)


def _make_options(settings: Settings) -> dict[str, Any]:
    """Return the arguments of create_engine."""
    timeout_s = settings.store_timeout_s
    timeout_ms = int(timeout_s * 1000)
    return {
        "url": read_store_url(settings.store_url_file),
        "connect_args": {
            "application_name": "wirebench",
            "connect_timeout": math.ceil(timeout_s),
            "options": f"-c statement_timeout={timeout_ms}",
            "tcp_user_timeout": timeout_ms,  # of a server that vanished with its machine
        },
        "pool_size": settings.store_connections,
        "max_overflow": 0,
        "pool_timeout": timeout_s,
        # A statement commits by itself, without BEGIN and COMMIT; there is nothing to roll back.
        "isolation_level": "AUTOCOMMIT",
        "skip_autocommit_rollback": True,
    }


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn errors of the connection, the server and the pool into one for the client; all others are bugs."""
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.ProgrammingError, sa.exc.TimeoutError) as error:
        sqlstate = getattr(getattr(error, "orig", None), "sqlstate", None)
        if sqlstate == _QUERY_CANCELED:
            raise OperationError("The store took too long. Try again later.", "unavailable") from None
        if isinstance(error, sa.exc.ProgrammingError) and sqlstate != _UNDEFINED_TABLE:
            raise
        raise OperationError("The store is unavailable. Try again later.", "unavailable") from None
