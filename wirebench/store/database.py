"""The database of the index: SQLite in the folder of the runs, or the PostgreSQL database that a URL names."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, inspect, make_url, select, update
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError

from wirebench.errors import UsageError, WirebenchError
from wirebench.store.tables import SCHEMA, metadata, schema

URL_VARIABLE = "WIREBENCH_DATABASE_URL"
#: The index of a folder of runs, unless the variable names another.
FILE_NAME = "index.db"
#: What people write, and what SQLAlchemy calls it.
_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
#: As long as we wait for a server, and for another writer, in seconds.
_TIMEOUT_S = 5
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class IndexUnusableError(WirebenchError):
    """The index can't be read or written; the runs on disk are as they were."""


class Database:
    """A database whose tables are those of this version; each use has a connection of its own."""

    def __init__(self, url: str) -> None:
        """Name the database; nothing is opened yet. Raises UsageError for a URL that can't be one."""
        parsed = _parse_url(url)
        self._is_file = parsed.drivername == "sqlite"
        self._password = str(parsed.password or "")
        where = URL.create("postgresql", host=parsed.host, port=parsed.port, database=parsed.database)
        self.name = str(parsed.database if self._is_file else where)
        self._engine = _make_engine(parsed)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection to read by. Raises IndexUnusableError."""
        with self._translate_errors(), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Be the only writer: what is written is there at the end, or nothing of it.

        Raises IndexUnusableError, and WirebenchError for what the tables can't hold.
        """
        with self._translate_errors(), self._engine.begin() as connection:
            connection.execute(update(schema).values(version=SCHEMA))  # locks SQLite's file, and PostgreSQL's row
            yield connection

    def prepare(self) -> None:
        """Create the tables unless this version's are there; those of another version are dropped: it is a cache.

        A damaged file of the default name is replaced. Raises IndexUnusableError.
        """
        with self._translate_errors():
            try:
                self._create_tables()
            except DBAPIError as error:
                is_ours = self._is_file and Path(self.name).name == FILE_NAME
                if not (is_ours and _says_damaged(error.orig)):
                    raise
                Path(self.name).unlink()
                self._create_tables()

    def _create_tables(self) -> None:
        with self._engine.begin() as connection:
            is_there = inspect(connection).has_table(schema.name)
            if is_there and connection.scalar(select(schema.c.version)) == SCHEMA:
                return
            metadata.drop_all(connection)
            metadata.create_all(connection)
            connection.execute(schema.insert().values(version=SCHEMA))

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn the errors of databases into ours: one line, without the password."""
        try:
            yield
        except (DataError, IntegrityError, OverflowError) as error:
            line = str(getattr(error, "orig", error)).strip().partition("\n")[0]
            raise WirebenchError(f"the index can't hold it: {line}", "correct it, or move it away") from None
        except (DBAPIError, OSError) as error:
            cause = getattr(error, "orig", None) or error
            line = str(cause).strip().partition("\n")[0]
            if self._password:
                line = line.replace(self._password, "…")
            hint = f"check that the server runs, and what {URL_VARIABLE} says"
            if _says_damaged(cause):
                hint = f"check what {URL_VARIABLE} names: that file is not an index of wirebench"
            elif self._is_file:
                hint = "check that it can be written, that the disk has space, and that no other program has locked it"
            raise IndexUnusableError(f"the index in {self.name} can't be used: {line}", hint) from None


def find_database_url(folder: Path) -> str:
    """Return the URL of the index of a folder of runs: that of the environment, or else a file in the folder."""
    return os.environ.get(URL_VARIABLE) or str(URL.create("sqlite", database=str(folder / FILE_NAME)))


def _parse_url(url: str) -> URL:
    """Read a URL. Raises UsageError, which repeats nothing of it: what can't be read may be the password."""
    hint = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:////FOLDER/FILE"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise UsageError(f"the URL of the index ({URL_VARIABLE}) is invalid", hint) from None
    if parsed.drivername not in _DRIVERS or not parsed.database:
        raise UsageError(f"{URL_VARIABLE} names no database of a kind that the index can be in", hint)
    if url.count("@") > 1:  # what stands behind the first one would be taken for the host, and shown
        raise UsageError(f"the URL of the index ({URL_VARIABLE}) has more than one @", "write each other @ as %40")
    return parsed.set(drivername=_DRIVERS[parsed.drivername])


def _make_engine(url: URL) -> Engine:
    if url.drivername == "sqlite":
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _TIMEOUT_S})
        event.listen(engine, "connect", _trust_the_disk)
        return engine
    options = {"connect_timeout": _TIMEOUT_S, "options": f"-c lock_timeout={_TIMEOUT_S}s"}
    return create_engine(url, poolclass=NullPool, connect_args={"application_name": "wirebench", **options})


def _trust_the_disk(connection: sqlite3.Connection, _record: object) -> None:
    """Never wait for the disk: what a power cut damages is built again from the folders."""
    connection.execute("PRAGMA synchronous = OFF")


def _says_damaged(error: BaseException | None) -> bool:
    """Say whether an error is that of a file that is no database, or none any more."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
