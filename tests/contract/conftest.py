"""Services that many tests share; pytest runs the tests of each together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.services import KINDS, Service, fresh_ids, started
from tests.postgres import PostgresServer, url_file
from wirebench.clients import Client


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the logs of services."""
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Return a PostgreSQL server."""
    server = PostgresServer()
    server.up()
    yield server
    server.down()


@pytest.fixture(scope="session", params=KINDS, ids=str)
def service(request: pytest.FixtureRequest, logs: Path) -> Iterator[Service]:
    """Return a running service: of each kind in turn, unless a test names the kinds."""
    flags = []
    if request.param.store == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        flags = ["--store-url-file", url_file(logs, server.fresh())]
    with started(request.param, logs, *flags) as running:
        yield running


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """Return a client of the service."""
    with service.connect() as connected:
        yield connected


@pytest.fixture
def user_id() -> int:
    """Return an id that no other test uses."""
    return next(fresh_ids)


@pytest.fixture
def scenario(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes a scenario file."""

    def write(text: str) -> Path:
        path = tmp_path / "tiny.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
