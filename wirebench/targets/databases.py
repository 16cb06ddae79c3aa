"""Databases for services whose store is PostgreSQL: fresh ones, on the server of `make postgres-up`."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path

import psutil
import psycopg

from wirebench.errors import UsageError, WirebenchError
from wirebench.system import processes

_CONNECT_TIMEOUT_S = 3
_MIGRATE_TIMEOUT_S = 120.0
#: Ours begin so, with the process id of the run that they are for.
_PREFIX = "wirebench_run_"


class Databases:
    """Copies of one database, which has the data that all stores start with: a copy takes a fraction of a second."""

    def __init__(self, url_file: Path) -> None:
        """Connect to the server. Raises UsageError if it isn't there."""
        try:
            self._url = url_file.read_text().strip()
            self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=_CONNECT_TIMEOUT_S)
        except (OSError, psycopg.Error) as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(f"store: postgres needs a server: {reason}", "run `make postgres-up`") from None
        # A connection's process is a child of the server's first.
        self._server = psutil.Process(self._connection.info.backend_pid).parent()
        self._names = (f"{_PREFIX}{psutil.Process().pid}_{number}" for number in itertools.count())
        self._template = next(self._names)
        self._copies: list[str] = []

    @property
    def version(self) -> str:
        return self._connection.info.parameter_status("server_version") or "unknown"

    def prepare(self) -> None:
        """Make the database that is copied, by the services' own command, in place of left-over ones.

        Raises WirebenchError.
        """
        for (name,) in self._connection.execute("SELECT datname FROM pg_database").fetchall():
            found = re.fullmatch(rf"{_PREFIX}(\d+)_\d+", name)
            if found and not (psutil.pid_exists(int(found[1])) and name != self._template):
                self._drop(name)
        self._execute(f"CREATE DATABASE {self._template}")
        command = (Path(sys.executable).parent / "wirebench-store", "migrate")
        environment = {"WIREBENCH_STORE_URL": self._build_url(self._template)}
        processes.run("wirebench-store", command, _MIGRATE_TIMEOUT_S, environment=environment)

    def run_on(self, cores: frozenset[int]) -> bool:
        """Have the server run on these cores; return whether it does."""
        try:
            for process in (self._server, *self._server.children()) if self._server else ():
                process.cpu_affinity(sorted(cores))
        except (psutil.Error, AttributeError):  # another user's; a system that doesn't bind processes to cores
            return False
        return self._server is not None

    def create(self) -> str:
        name = next(self._names)
        self._execute(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        self._copies.append(name)
        return self._build_url(name)

    def drop_copies(self) -> None:
        while self._copies:
            self._drop(self._copies.pop())

    def close(self) -> None:
        self.drop_copies()
        self._drop(self._template)
        self._connection.close()

    def _drop(self, name: str) -> None:
        self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        try:
            self._connection.execute(statement.encode())
        except psycopg.Error as error:
            reason = str(error).partition("\n")[0]
            hint = "see build/postgres/data/log; run `make postgres-up`"
            raise WirebenchError(f"PostgreSQL: {reason}", hint) from None

    def _build_url(self, name: str) -> str:
        return f"{self._url.rpartition('/')[0]}/{name}"
