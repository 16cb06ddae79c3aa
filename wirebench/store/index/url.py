"""Which database is the index, and how it is named without its password."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from wirebench.errors import UsageError

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


def find_database_url(folder: Path) -> str:
    """Return the URL of the index of a folder of runs: that of the environment, or else a file in the folder."""
    return os.environ.get(URL_VARIABLE) or str(URL.create("sqlite", database=str(folder / FILE_NAME)))


def parse(url: str) -> URL:
    """Read a URL. Raises UsageError, which repeats nothing of it: what can't be read may be the password."""
    hint = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or sqlite:////FOLDER/FILE"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise UsageError(f"the URL of the index ({URL_VARIABLE}) is invalid", hint) from None
    if parsed.drivername not in _DRIVERS:
        raise UsageError(f"the index can't be in a database of the kind that {URL_VARIABLE} names", hint)
    if not parsed.database or parsed.database == ":memory:":
        raise UsageError(f"the URL of the index ({URL_VARIABLE}) names no database", hint)
    if parsed.drivername == "sqlite":
        if parsed.host or parsed.username or parsed.password or parsed.port:
            raise UsageError(f"the URL of the index ({URL_VARIABLE}) names a file on a host", hint)
    elif url.count("@") > 1:
        # What stands behind the first one would be taken for the host, and be named.
        escaped = "write each @ of the user's name and the password as %40, / as %2F, : as %3A and ? as %3F"
        raise UsageError(f"the URL of the index ({URL_VARIABLE}) has more than one @", escaped)
    return parsed.set(drivername=_DRIVERS[parsed.drivername])


def without_password(url: str) -> str:
    """Name a database for people: where it is, and nothing that would let them in."""
    parsed = parse(url)
    if parsed.drivername == "sqlite":
        return str(parsed.database)
    return str(URL.create("postgresql", host=parsed.host, port=parsed.port, database=parsed.database))
