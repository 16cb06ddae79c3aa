"""What the local target does with PostgreSQL: a fresh database for each service, and none left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.support.postgres import PostgresServer, url_file
from wirebench.errors import UsageError
from wirebench.targets.databases import Databases


@pytest.fixture
def server_file(postgres: PostgresServer, tmp_path: Path) -> Path:
    """Return a file with the server's URL, as `make postgres-up` leaves it."""
    return url_file(tmp_path, postgres.url())


@pytest.fixture
def ready(server_file: Path) -> Iterator[Databases]:
    """Return databases that are ready to be copied."""
    with closing(Databases(server_file)) as made:
        made.prepare()
        yield made


def names(url: str) -> set[str]:
    """Return the databases of runs that are there."""
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'wirebench_run%'").fetchall()
    return {name for (name,) in rows}


def test_copies_begin_alike_and_are_apart(ready: Databases) -> None:
    """Each has the seeded users, whatever was done to the one before; dropping one doesn't wait for its clients."""
    for _ in range(2):
        with psycopg.connect(ready.create()) as copy:
            assert (10_000,) == copy.execute("SELECT count(*) FROM users").fetchone()
            copy.execute("DELETE FROM users")
            copy.commit()
            ready.drop_copies()


def test_nothing_is_left(postgres: PostgresServer, server_file: Path) -> None:
    """Neither of a run that ends nor, when the next one begins, of one that was killed; what runs besides is let be."""
    killed = "wirebench_run_4194305_0"  # more than Linux counts processes to
    other = f"wirebench_run_{psutil.Process().ppid()}_0"
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {killed}".encode())
        connection.execute(f"CREATE DATABASE {other}".encode())
    with closing(Databases(server_file)) as made:
        made.prepare()
        made.create()
        assert killed not in names(postgres.url())
    assert {other} == names(postgres.url())
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {other}".encode())


def test_a_server_that_is_not_there_is_rejected(server_file: Path, tmp_path: Path) -> None:
    """With the command that starts it, and without the password."""
    with pytest.raises(UsageError, match=r"needs a server: .*No such file") as missing:
        Databases(tmp_path / "none")
    assert "run `make postgres-up`" == missing.value.hint
    server_file.write_text("postgresql://wirebench:s3cret@127.0.0.1:1/wirebench")
    with pytest.raises(UsageError, match="Connection refused") as silent:
        Databases(server_file)
    assert "run `make postgres-up`" == silent.value.hint
    assert "s3cret" not in silent.value.message
