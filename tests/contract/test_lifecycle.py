"""How services start, stop and fail: the same on every runtime, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.contract.services import (
    ASYNCIO,
    DEFAULT_KINDS,
    GO_KINDS,
    GOROUTINES,
    GRPC_KINDS,
    GTHREAD,
    GUNICORN_SYNC,
    HOST,
    NET_HTTP,
    PYTHON_KINDS,
    RUNTIME_KINDS,
    THREADED,
    TIMEOUT_S,
    Kind,
    Service,
    command,
    environment,
    locked,
    receive_all,
    run_to_the_end,
    started,
    wait_until,
)
from wirebench.clients import ClientError, Reply
from wirebench.places import ROOT

every_runtime = pytest.mark.parametrize("kind", RUNTIME_KINDS, ids=str)
every_python_runtime = pytest.mark.parametrize("kind", PYTHON_KINDS, ids=str)
every_transport = pytest.mark.parametrize("kind", [*DEFAULT_KINDS, *GO_KINDS], ids=str)


def family(service: Service) -> list[psutil.Process]:
    """Return a service's processes below the supervisor."""
    return psutil.Process(service.process.pid).children(recursive=True)


def have_ended(processes: list[psutil.Process]) -> bool:
    """Return whether all of them are gone; one that only waits to be buried is."""
    return all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes)


@every_python_runtime
def test_requests_in_flight_are_finished(kind: Kind, tmp_path: Path) -> None:
    """A request that has begun when the service is told to stop still gets its reply; then the service is gone."""
    database = tmp_path / "users.sqlite"
    user = {"id": 1, "name": "Ada", "email": "ada@example.com"}
    with (
        started(kind._replace(store=f"sqlite:{database}"), tmp_path) as service,
        service.connect() as client,
        ThreadPoolExecutor(1) as pool,
    ):
        with locked(database):
            reply = pool.submit(client.call, "users.create", {"user": user})
            wait_until(
                lambda: any(value == 1 for _, value in service.samples("wirebench_in_flight_requests")),
                "the request is in flight",
            )
            service.process.terminate()
            wait_until(lambda: "stopping" in service.logged(), "the service begins to stop")
            time.sleep(0.3)  # what does not wait for the request would be gone by now
            assert not reply.done()

        assert Reply("ok", "User created successfully", user) == reply.result(TIMEOUT_S)
        client.close()
        assert 0 == service.process.wait(TIMEOUT_S)
        with pytest.raises(ClientError, match="nothing listens"):
            service.connect()


@pytest.mark.parametrize(
    ("kind", "parts", "expected"),
    [
        (
            NET_HTTP,
            (b"POST /upper HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{", b'"text": "a"}'),
            b'"data":{"text":"A"}',
        ),
        *((kind, (b"a li", b"ne\n"), b"A LINE\n") for kind in (ASYNCIO, THREADED, GOROUTINES)),
    ],
    ids=str,
)
def test_requests_on_their_way_are_answered(
    kind: Kind, parts: tuple[bytes, bytes], expected: bytes, tmp_path: Path
) -> None:
    """A request of which a part is here when the service is told to stop is read to its end, and answered."""
    with started(kind, tmp_path) as service, socket.create_connection(service.address, TIMEOUT_S) as connection:
        connection.sendall(parts[0])
        time.sleep(0.2)
        service.process.terminate()
        wait_until(lambda: "stopping" in service.logged(), "the service begins to stop")
        time.sleep(0.3)
        connection.sendall(parts[1])

        assert expected in receive_all(connection)
        assert 0 == service.process.wait(TIMEOUT_S)


@every_runtime
def test_stopping_begins_with_readiness(kind: Kind, tmp_path: Path) -> None:
    """Once told to stop, a service is no longer ready, but goes on serving for the pause: others learn it first."""
    with started(kind, tmp_path, "--drain-pause-s", 1) as service:
        assert (200, 200) == (service.admin("/livez")[0], service.admin("/readyz")[0])
        service.process.terminate()

        wait_until(lambda: service.admin("/readyz")[0] == 503, "the service is no longer ready")
        assert 200 == service.admin("/livez")[0]
        with service.connect() as client:
            assert client.call("users.get", {"id": 1_000_001}).ok
        assert 0 == service.process.wait(TIMEOUT_S)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        *((kind, signal.SIGTERM) for kind in RUNTIME_KINDS),
        *((kind, signal.SIGINT) for kind in (*DEFAULT_KINDS, *GO_KINDS)),
    ],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else str(value),
)
def test_nothing_is_left_behind(kind: Kind, tmp_path: Path, number: signal.Signals) -> None:
    """After a stop there are no processes and no files, and clients that stay connected keep nothing alive."""
    with started(kind, tmp_path, *kind.doubled) as service, service.connect() as client:
        client.call("users.get", {"id": 1_000_001})
        processes = family(service)
        before = time.monotonic()

        assert 0 == service.stop(number)

        assert time.monotonic() - before < 8
        assert have_ended(processes)
        assert [service.log] == list(tmp_path.iterdir())


class Moment(NamedTuple):
    """When a service that starts is stopped: so long after it has so many processes below its first."""

    processes: int
    pause_s: float


def stop_while_starting(kind: Kind, folder: Path, moment: Moment, number: signal.Signals) -> tuple[int, float]:
    """Start a service and stop it; return its exit status and how long it took to end, in seconds."""
    pause = () if kind.implementation == "go" else ("--drain-pause-s", 0)
    flags = ("--port", 0, "--runtime", kind.runtime, *kind.doubled, *pause)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command(kind, *flags),
            cwd=ROOT, env=environment(folder), stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        first = psutil.Process(process.pid)
        wait_until(
            lambda: len(first.children(recursive=True)) >= moment.processes, "it has its processes", pause_s=0.001
        )
        time.sleep(moment.pause_s)
        before = time.monotonic()
        # A terminal interrupts the whole group.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        status = process.wait(TIMEOUT_S)
        return status, time.monotonic() - before
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@every_runtime
def test_a_stop_while_starting(kind: Kind, tmp_path: Path) -> None:
    """However early a service is told to stop, it does so at once, and leaves nothing behind."""
    chance = random.Random(1)  # noqa: S311 - no secret
    masters = 1 if kind in {GTHREAD, GUNICORN_SYNC} else 0
    if kind.implementation == "go":  # which is one process, and soon there
        moments = [Moment(0, chance.uniform(0, 0.1)) for _ in range(6)]
    else:
        moments = [Moment(count, 0) for count in range(1, masters + 3)]
        moments += [Moment(masters + 2, chance.uniform(0, 0.3)) for _ in range(3)]
        moments += [Moment(0, chance.uniform(0.05, 1)) for _ in range(4)]
    folders = [tmp_path / str(number) for number in range(len(moments))]
    for folder in folders:
        folder.mkdir()

    def attempt(number: int) -> tuple[int, float]:
        return stop_while_starting(
            kind, folders[number], moments[number], signal.SIGINT if number % 3 == 2 else signal.SIGTERM
        )

    with ThreadPoolExecutor(3) as pool:
        ends = list(pool.map(attempt, range(len(moments))))

    # A service that isn't there yet ends as any program does; with 1, where Ctrl-C meets Python's own start.
    assert {status for status, _ in ends} <= {0, 1, -signal.SIGTERM, -signal.SIGINT}
    assert max(duration_s for _, duration_s in ends) < 5, ends
    assert [["log"]] * len(folders) == [[path.name for path in folder.iterdir()] for folder in folders]


def test_a_kept_connection_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    """Of itself, gunicorn gives clients that keep a connection 2 s to send another request."""

    def stop_s() -> float:
        with started(GTHREAD, tmp_path) as service, service.connect() as client:
            client.call("users.get", {"id": 1_000_001})
            before = time.monotonic()
            service.stop()
            return time.monotonic() - before

    assert min(stop_s() for _ in range(3)) < 1.8


@pytest.mark.parametrize("kind", GRPC_KINDS, ids=str)
def test_clients_that_never_speak_do_not_hold_up_a_stop(kind: Kind, tmp_path: Path) -> None:
    """GRPC gives clients time to open HTTP/2: those that say nothing, or not enough, don't get it from a stop."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    with (
        started(kind, tmp_path, *kind.doubled) as service,
        service.connect() as client,
        contextlib.ExitStack() as clients,
    ):
        for said in (b"", preface[:8], preface):
            silent = clients.enter_context(socket.create_connection(service.address, TIMEOUT_S))
            silent.sendall(said)
        assert client.call("users.get", {"id": 1_000_001}).ok
        before = time.monotonic()

        assert 0 == service.stop()

        assert time.monotonic() - before < 4  # the read time-out and the drain's are 10 s


def has_ipv6() -> bool:
    """Return whether this machine has an IPv6 loopback."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6")


@needs_ipv6
@pytest.mark.parametrize(("host", "clients_hosts"), [("::1", ["::1"]), ("::", ["::1", "127.0.0.1"])])
@every_runtime
def test_ipv6(kind: Kind, host: str, clients_hosts: list[str], tmp_path: Path) -> None:
    """A service listens on IPv6 as on IPv4, with both its ports; on `::` it listens on both."""
    with started(kind, tmp_path, host=host) as service:
        assert f"listening on [{host}]:{service.port} " in service.logged()
        assert f"admin on [{host}]:{service.admin_port}" in service.logged()
        for service.host in clients_hosts:
            with service.connect() as client:
                assert client.call("users.get", {"id": 1_000_001}).ok
            assert (200, "ok\n") == service.admin("/readyz")


@needs_ipv6
@every_transport
def test_an_ipv6_port_in_use(kind: Kind, tmp_path: Path) -> None:
    """The address stands in brackets, as one would write it."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        status, lines = run_to_the_end(tmp_path, kind, "--host", "::1", "--port", port, "--admin-port", 0)

    assert (1, 1) == (status, len(lines))
    assert f"can't listen on [::1]:{port}: Address already in use" in lines[0]


@every_python_runtime
def test_a_killed_worker_stops_the_service(kind: Kind, tmp_path: Path) -> None:
    """A worker that dies takes what it held in memory with it: the service says so and stops, with status 1."""
    with started(kind, tmp_path, "--workers", 2) as service:
        processes = family(service)
        processes[-1].kill()

        assert 1 == service.process.wait(TIMEOUT_S)
        assert have_ended(processes)
        _, *lines = service.logged().splitlines()  # the first one is the announcement
        assert all(line.startswith(f"wirebench-{kind.transport}: ") for line in lines)
        assert any("worker 1 was ended by SIGKILL" in line for line in lines)
        assert len(lines) <= 2  # the worker's end, and that of the master that kept it, if there is one


@every_runtime
def test_a_killed_supervisor_leaves_nothing_running(kind: Kind, tmp_path: Path) -> None:
    """Workers and files end with their supervisor, even if it had no time for anything, and the port is free."""
    with started(kind, tmp_path, *kind.doubled) as service:
        processes = family(service)

        assert -signal.SIGKILL == service.stop(signal.SIGKILL)

        try:
            wait_until(lambda: have_ended(processes), "the workers have ended", timeout_s=10)
        finally:
            for each in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
        socket.create_server(service.address).close()
        assert [service.log] == list(tmp_path.iterdir())


@every_runtime
def test_a_port_in_use(kind: Kind, tmp_path: Path) -> None:
    """One clear line and status 1, whoever listens there: even a service of the same kind."""
    with started(kind, tmp_path) as service:
        flags = ("--port", service.port, "--admin-port", 0, "--runtime", kind.runtime)
        status, lines = run_to_the_end(tmp_path, kind, *flags)

    problem = f"can't listen on {HOST}:{service.port}: Address already in use"
    next_step = "choose another with --host, --port, --admin-port"
    assert (1, [f"{kind.program}: {problem}; {next_step}"]) == (status, lines)


@every_transport
def test_an_admin_port_in_use(kind: Kind, tmp_path: Path) -> None:
    """The admin port is named as clearly."""
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        status, lines = run_to_the_end(tmp_path, kind, "--port", 0, "--admin-port", port)

    assert (1, 1) == (status, len(lines))
    assert f"can't listen on {HOST}:{port}: Address already in use" in lines[0]


@every_transport
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--port", "x"), "port: "),
        (("--port", 65_536), "--port: 65536 is not between 0 and 65535"),
        (("--runtime", "nope"), "--runtime: 'nope' is not one of "),
        (("--workers", 0), "--workers: 0 is not "),
        (("--store", "redis"), "--store: "),
        (("--nonsense",), "-nonsense"),
        (("--tls-cert", "x"), "--tls-cert needs --tls-key"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_wrong_flags(kind: Kind, flags: tuple[object, ...], expected: str, tmp_path: Path) -> None:
    """A wrong flag is named, with status 2."""
    status, lines = run_to_the_end(tmp_path, kind, *flags)

    assert 2 == status
    assert lines[-1].startswith(f"{kind.program}: error: ")
    assert expected in lines[-1]


@pytest.mark.parametrize("kind", GO_KINDS, ids=str)
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (
            ("--workers", 2),
            "--workers: 2 is not 1: a service in Go is one process; use --threads",
        ),
        (("--store", "sqlite"), "--store: 'sqlite' is not one of memory, postgres"),
    ],
    ids=["workers", "store"],
)
def test_what_go_does_not_have(kind: Kind, flags: tuple[object, ...], expected: str, tmp_path: Path) -> None:
    """Workers and stores are Python's: Go says so, and what to do."""
    assert (2, [f"{kind.program}: error: {expected}"]) == run_to_the_end(tmp_path, kind, *flags)


@pytest.mark.parametrize("kind", DEFAULT_KINDS, ids=str)
def test_a_store_that_can_not_be_opened(kind: Kind, tmp_path: Path) -> None:
    """A store that can't be prepared is one clear line and status 1."""
    status, lines = run_to_the_end(tmp_path, kind, "--port", 0, "--store", f"sqlite:{tmp_path}/none/users.sqlite")

    assert (1, 1) == (status, len(lines))
    assert "can't prepare the store" in lines[0]


@every_transport
def test_help_names_every_flag(kind: Kind, tmp_path: Path) -> None:
    """`--help` shows the flags of the design."""
    status, lines = run_to_the_end(tmp_path, kind, "--help")

    assert 0 == status
    for flag in (
        "--host",
        "--port",
        "--admin-port",
        "--runtime",
        "--workers",
        "--threads",
        "--store",
        "--tls-cert",
        "--tls-key",
    ):
        assert any(line.strip().startswith((flag, flag[1:])) for line in lines)
