"""How services start, stop and fail: the same on every runtime, and nothing is left behind."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from wirebench_services.client import Reply

from tests.support.postgres import PostgresServer, count_waiting, locked, url_file
from tests.support.services import (
    GTHREAD,
    HOST,
    NET_HTTP,
    PYTHON_KINDS,
    RUNTIME_KINDS,
    Kind,
    Service,
    command,
    environment,
    run_to_the_end,
    started,
)
from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.system.paths import ROOT

ADA = {"id": 1, "name": "Ada", "email": "ada@example.com"}

every_runtime = pytest.mark.parametrize("kind", RUNTIME_KINDS, ids=str)
every_python_runtime = pytest.mark.parametrize("kind", PYTHON_KINDS, ids=str)


def family(service: Service) -> list[psutil.Process]:
    """Return a service's processes below the first."""
    return psutil.Process(service.process.pid).children(recursive=True)


def have_ended(processes: list[psutil.Process]) -> bool:
    """Return whether all of them have ended; a zombie has."""
    return all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes)


@every_runtime
def test_requests_in_flight_are_finished(kind: Kind, postgres: PostgresServer, tmp_path: Path) -> None:
    """A request that has begun at SIGTERM still gets its reply; then the service ends with status 0."""
    url = postgres.fresh()
    flags = ("--store-url-file", url_file(tmp_path, url), "--store-timeout-s", 30)
    with (
        started(kind._replace(store="postgres"), tmp_path, *flags) as service,
        service.connect() as client,
        ThreadPoolExecutor(1) as pool,
    ):
        assert client.call("users.list", {"limit": 1}).ok
        with locked(url):
            reply = pool.submit(client.call, "users.create", {"user": ADA})
            wait_until(lambda: count_waiting(url) > 0, "the request waits in the database")
            service.process.terminate()
            wait_until(lambda: "stopping" in service.logged(), "the service begins to stop")
            time.sleep(0.3)  # a server that does not wait for the request would have closed by now
            assert not reply.done()

        assert Reply("ok", "User created successfully", ADA) == reply.result(TIMEOUT_S)
        client.close()
        assert 0 == service.process.wait(TIMEOUT_S)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=lambda number: number.name
)
@every_runtime
def test_nothing_is_left_behind(kind: Kind, tmp_path: Path, number: signal.Signals) -> None:
    """After a stop there are no processes and no files."""
    with started(kind, tmp_path, *kind.doubled) as service:
        with service.connect() as client:
            assert client.call("users.get", {"id": 1_000_001}).ok
        processes = family(service)

        assert 0 == service.stop(number)

        assert have_ended(processes)
        assert [service.log] == list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [GTHREAD, NET_HTTP], ids=str)
def test_a_stop_while_starting(kind: Kind, tmp_path: Path) -> None:
    """However early a service is told to stop, it ends and leaves nothing behind."""
    chance = random.Random(1)  # noqa: S311 - no secret
    folders = [tmp_path / str(number) for number in range(4)]

    def attempt(folder: Path) -> int:
        folder.mkdir()
        flags = ("--port", 0, "--runtime", kind.runtime, *kind.doubled)
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command(kind, *flags), cwd=ROOT, env=environment(folder), stdout=log, stderr=log, start_new_session=True
            )
        try:
            time.sleep(chance.uniform(0, 1.5))
            process.terminate()
            return process.wait(TIMEOUT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    with ThreadPoolExecutor(2) as pool:
        statuses = list(pool.map(attempt, folders))

    assert set(statuses) <= {0, -signal.SIGTERM}
    assert [["log"]] * 4 == [[path.name for path in folder.iterdir()] for folder in folders]


def has_ipv6() -> bool:
    """Return whether this machine has an IPv6 loopback."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6")
@every_runtime
def test_ipv6(kind: Kind, tmp_path: Path) -> None:
    """A service at :: listens on IPv6 and on IPv4, with both its ports."""
    with started(kind, tmp_path, host="::") as service:
        assert f"listening on [::]:{service.port} " in service.logged()
        for host in ("::1", HOST):
            reached = dataclasses.replace(service, host=host)
            with reached.connect() as client:
                assert client.call("users.get", {"id": 1_000_001}).ok
            assert [(200, "ok\n")] * 2 == [reached.admin("/livez"), reached.admin("/readyz")]


@every_python_runtime
def test_a_worker_that_dies(kind: Kind, tmp_path: Path) -> None:
    """Gunicorn and uvicorn replace it; gRPC and the socket, which have no supervisor, end with status 1."""
    with started(kind, tmp_path, "--workers", 2) as service:
        processes = family(service)
        worker = max(processes, key=lambda each: each.pid)
        worker.kill()

        if kind.transport == "rest":
            wait_until(lambda: not worker.is_running() and service.is_ready(), "the worker is replaced")
            with service.connect() as client:
                assert client.call("users.get", {"id": 1_000_001}).ok
            wait_until(lambda: f"worker {worker.pid} has died" in service.logged(), "the death is logged")
        else:
            assert 1 == service.process.wait(TIMEOUT_S)
            assert have_ended(processes)
            assert f"process {worker.pid} of the server ended with status -9; the service stops" in service.logged()


@pytest.mark.parametrize("kind", RUNTIME_KINDS, ids=str)
def test_a_killed_command_leaves_nothing_running(kind: Kind, tmp_path: Path) -> None:
    """The server ends with the command that started it, even if it is killed, and the port is free."""
    with started(kind, tmp_path, *kind.doubled) as service:
        processes = family(service)

        assert -signal.SIGKILL == service.stop(signal.SIGKILL)

        try:
            wait_until(lambda: have_ended(processes), "the processes have ended")
        finally:
            for each in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
        socket.create_server(service.address).close()


@pytest.mark.parametrize("service", RUNTIME_KINDS, ids=str, indirect=True)
def test_a_port_in_use(service: Service, tmp_path: Path) -> None:
    """One clear line and status 1, even if it is a service of the same kind that listens there."""
    flags = ("--port", service.port, "--admin-port", 0, "--runtime", service.kind.runtime)
    status, lines = run_to_the_end(tmp_path, service.kind, *flags)

    assert (1, 1) == (status, len(lines))
    assert f"can't listen on {HOST}:{service.port}: " in lines[0].replace("[", "").replace("]", "")
