"""The connection to the database of the index: one way to read, one way to write, and one kind of error."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import URL, Connection, Engine, create_engine, event, func, inspect, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from wirebench.errors import WirebenchError
from wirebench.store.index import sqlite
from wirebench.store.index import url as urls
from wirebench.store.index.tables import SCHEMA, metadata, version

#: As long as we wait for a server, and for another writer, in seconds: who waits may be between two windows.
_CONNECT_TIMEOUT_S = 5
_LOCK_TIMEOUT_S = 5
#: The advisory lock of writers on PostgreSQL; any number that is not used elsewhere.
_WRITING = 0x77697265  # "wire"


class IndexUnusableError(WirebenchError):
    """The index can't be read or written; the runs on disk are as they were."""


class Database:
    """A database whose tables are those of this version.

    Readers see one state of it from the first row to the last, and never wait; there is one writer at a time.
    """

    def __init__(self, url: str) -> None:
        """Connect, and make the tables if they aren't there. Raises UsageError, IndexUnusableError.

        A damaged file is replaced by an empty one. `is_new` says that the tables were made now, and are empty.
        """
        parsed = urls.parse(url)
        self.name = urls.without_password(url)
        self._password = parsed.password
        self._is_file = parsed.drivername == "sqlite"
        self.is_new = False
        with self._translate_errors():
            self._engine = _make_engine(parsed)
            try:
                self._prepare_tables()
            except DBAPIError as error:
                self._engine.dispose()
                path = Path(self.name)
                if not (self._is_file and sqlite.says_damaged(error.orig) and sqlite.is_for_an_index(path)):
                    raise
                sqlite.remove(path)
                self._prepare_tables()
            except BaseException:
                self._engine.dispose()
                raise

    def close(self) -> None:
        self._engine.dispose()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Have one state of the database to read. Raises IndexUnusableError."""
        with self._translate_errors(), self._engine.connect() as connection:
            if not self._is_file:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Be the one who writes; all that was written is there at the end, or nothing. Raises IndexUnusableError."""
        with self._translate_errors(), self._engine.connect() as connection, self._begin(connection):
            yield connection

    @contextlib.contextmanager
    def _begin(self, connection: Connection) -> Iterator[None]:
        connection.info[sqlite.BEGIN] = "BEGIN IMMEDIATE"
        try:
            with connection.begin():
                if not self._is_file:
                    connection.execute(select(func.pg_advisory_xact_lock(_WRITING)))
                yield
        finally:
            connection.info.pop(sqlite.BEGIN, None)

    def _prepare_tables(self) -> None:
        """Make the tables; those of an older version give way, as run folders have all that was in them.

        Raises IndexUnusableError if they are a newer version's.
        """
        with self._engine.connect() as connection:
            if _read_schema(connection) == SCHEMA:
                return
        with self._engine.connect() as connection, self._begin(connection):
            found = _read_schema(connection)
            if found is not None and found > SCHEMA:
                raise IndexUnusableError(
                    f"the index in {self.name} is a newer version's: its schema is {found}, this version's {SCHEMA}",
                    f"use that version, or {'move the file away' if self._is_file else 'name another database'}",
                )
            if found != SCHEMA:
                metadata.drop_all(connection)
                metadata.create_all(connection)
                connection.execute(version.insert().values(version_num=SCHEMA))
                self.is_new = True

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn the errors of databases into ours: one line, without the password."""
        try:
            yield
        except (DBAPIError, PoolTimeoutError, sqlite3.Error, OSError) as error:
            cause = getattr(error, "orig", None) or error
            line = str(cause).strip().partition("\n")[0]
            if self._password:
                line = line.replace(str(self._password), "…")
            raise IndexUnusableError(
                f"the index in {self.name} can't be used: {line}", self._make_hint(cause)
            ) from None

    def _make_hint(self, cause: BaseException) -> str:
        if not self._is_file:
            return f"see that the server is there, and what {urls.URL_VARIABLE} says"
        if sqlite.says_damaged(cause):
            if sqlite.is_for_an_index(Path(self.name)):
                return "remove it: it is a cache, and is filled again from the folders of runs"
            return f"see what {urls.URL_VARIABLE} names: that file is not an index of wirebench"
        return "check that it can be written, that the disk has space, and that no other program has locked it"


def _read_schema(connection: Connection) -> str | None:
    return connection.scalar(select(version.c.version_num)) if inspect(connection).has_table(version.name) else None


def _make_engine(url: URL) -> Engine:
    if url.drivername == "sqlite":
        engine = create_engine(url, connect_args={"timeout": _LOCK_TIMEOUT_S, "isolation_level": None}, **_JSON)
        event.listen(engine, "connect", sqlite.prepare)
        event.listen(engine, "begin", sqlite.begin)
        return engine
    options = f"-c lock_timeout={_LOCK_TIMEOUT_S}s -c timezone=UTC"
    arguments = {
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "tcp_user_timeout": round(1000 * _LOCK_TIMEOUT_S),
        "options": options,
        "application_name": "wirebench",
    }
    # A connection that the server has closed meanwhile is opened again.
    return create_engine(url, connect_args=arguments, pool_pre_ping=True, **_JSON)


_JSON: dict[str, Any] = {
    "json_serializer": lambda value: orjson.dumps(value).decode(),
    "json_deserializer": orjson.loads,
}
