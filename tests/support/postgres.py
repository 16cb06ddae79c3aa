"""A PostgreSQL server for tests, started by `scripts/postgres`, and fresh databases on it."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

_TIMEOUT_S = 300.0


class PostgresServer:
    """A server of the tests' own, which they may stop; each in a folder of its own."""

    _servers = itertools.count(1)

    def __init__(self, folder: Path | None = None) -> None:
        # Not in pytest's folders: those are for their user alone, and PostgreSQL doesn't run as root.
        self._folder = folder or ROOT / "build" / f"postgres-tests-{os.getpid()}-{next(self._servers)}"
        self._numbers = itertools.count(1)
        self._migrated = False
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    @property
    def is_installed(self) -> bool:
        """Whether PostgreSQL's programs are here."""
        return self._run("find").returncode == 0

    def up(self) -> None:
        """Start it, with the data that it had; skip the test where PostgreSQL isn't installed."""
        if not self.is_installed:
            pytest.skip("PostgreSQL isn't installed: sudo scripts/postgres install")
        done = self._run("up")
        assert 0 == done.returncode, done.stdout + done.stderr

    def stop(self) -> None:
        """End it, and keep its data."""
        assert 0 == self._run("stop").returncode

    def down(self) -> None:
        """End it, and remove all that it has left."""
        assert 0 == self._run("down").returncode
        assert not self._folder.exists()

    @property
    def url_file(self) -> Path:
        """The file that holds the URL."""
        return self._folder / "url"

    def url(self, database: str = "wirebench") -> str:
        """Return the URL of a database."""
        url = self.url_file.read_text().strip()
        return url.removesuffix("wirebench") + database

    def empty(self) -> str:
        """Make a database with nothing in it, and return its URL."""
        return self._create("template1")

    def fresh(self) -> str:
        """Make a database with the data that all stores start with, and return its URL."""
        if not self._migrated:
            migrate = [str(Path(sys.executable).with_name("wirebench-store")), "migrate"]
            environment = {**os.environ, "WIREBENCH_STORE_URL": self.url()}
            subprocess.run(migrate, env=environment, cwd=ROOT, check=True, capture_output=True, timeout=_TIMEOUT_S)
            self._migrated = True
        return self._create("wirebench")

    def replace(self, url: str) -> None:
        """Replace this database by an empty one, even while it is used."""
        name = url.rpartition("/")[2]
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {name}".encode())

    def _create(self, template: str) -> str:
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return self.url(name)

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "POSTGRES_FOLDER": str(self._folder),
            "POSTGRES_OPTIONS": "-c fsync=off",
            "STORE_PORT": str(self._port),
        }
        # Its output goes to files: through a pipe, the server that it leaves behind would keep us waiting.
        return run_program([ROOT / "scripts/postgres", command], env=environment, timeout=_TIMEOUT_S)


def url_file(folder: Path, url: str) -> Path:
    """Write a URL into a file for its user alone."""
    path = folder / "url"
    path.touch(mode=0o600)
    path.write_text(url)
    return path


def count_waiting(url: str) -> int:
    """Return how many statements in a database wait for a lock."""
    with psycopg.connect(url) as connection:
        waiting = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        ).fetchone()
    return waiting[0] if waiting else 0


@contextlib.contextmanager
def locked(url: str) -> Iterator[None]:
    """Keep all that writes users waiting."""
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE users IN EXCLUSIVE MODE")
        yield
        connection.rollback()
