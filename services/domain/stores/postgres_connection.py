"""A connection to PostgreSQL: how it is made, whether it is still there, and what its errors mean."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from services.domain.errors import Unavailable
from services.domain.stores.settings import StoreSettings

#: To connect; libpq itself makes at least 2 s of it.
_CONNECT_TIMEOUT_S = 3


def check_url(url: str) -> None:
    """Raise ValueError, which says nothing of what is in it, if this is no connection URL."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # which may quote the password
        parts = {}
    if not url.startswith(("postgresql://", "postgres://")) or not parts.get("dbname"):
        raise ValueError("is no URL of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE")


def options(settings: StoreSettings) -> dict[str, Any]:
    """Return what a connection is made with besides its URL. Statements commit by themselves."""
    timeout_ms = int(settings.timeout_s * 1000)
    given = str(conninfo_to_dict(settings.url).get("options") or "")
    return {
        "autocommit": True,
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "application_name": "wirebench",
        "options": f"{given} -c statement_timeout={timeout_ms}".strip(),
        # A server that is gone without a word, as with its machine.
        "tcp_user_timeout": timeout_ms,
        "keepalives_idle": 5,
        "keepalives_interval": 5,
        "keepalives_count": 2,
    }


def connect(settings: StoreSettings) -> psycopg.Connection:
    """Return a connection of one's own. Raises psycopg.Error."""
    return psycopg.connect(settings.url, **options(settings))


def still_there(connection: psycopg.Connection | psycopg.AsyncConnection) -> None:
    """Raise OperationalError if the server has hung up since the last statement.

    It costs a system call, and no round trip: while nothing is asked, a server that says something says good-bye, but
    for notices, which are read here.
    """
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    while poll.poll(0):
        connection.pgconn.consume_input()


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn errors of the connection, the server and the pool into Unavailable; all others are mistakes of ours."""
    try:
        yield
    except psycopg.errors.QueryCanceled:
        raise Unavailable("The store took too long. Try again later.") from None
    except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.UndefinedTable):
        # There were tables when the service started: another server is in that one's place.
        raise Unavailable("The store is unavailable. Try again later.") from None
