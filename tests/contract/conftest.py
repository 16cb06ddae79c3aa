"""Services that many tests share; pytest runs the tests of each together."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from wirebench_services.client import Client

from tests.support.postgres import PostgresServer, url_file
from tests.support.runs import first_lane, second_lane
from tests.support.services import CONTRACT_KINDS, Kind, Service, fresh_ids, started


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is tested on other runtimes than CONTRACT_KINDS as slow."""
    runtimes = {kind.runtime for kind in CONTRACT_KINDS}
    for item in items:
        parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if any(isinstance(each, Kind) and each.runtime not in runtimes for each in parameters.values()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def half_of_the_cores(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep the runs of a lane on its half of the cores, so that those of the other lane needn't wait for them."""
    group = request.node.get_closest_marker("xdist_group")
    if group not in (first_lane.mark, second_lane.mark) or sys.platform != "linux":
        yield
        return
    cores = sorted(os.sched_getaffinity(0))
    half = cores[::2] if group == first_lane.mark else cores[1::2]
    os.sched_setaffinity(0, half or cores)
    yield
    os.sched_setaffinity(0, cores)


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


@pytest.fixture(scope="session", params=CONTRACT_KINDS, ids=str)
def service(request: pytest.FixtureRequest, logs: Path) -> Iterator[Service]:
    """Return a running service: of each of CONTRACT_KINDS in turn, unless a test names the kinds."""
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
