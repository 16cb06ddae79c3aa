"""Links measured against the truth: what is asked of the proxy is what a round trip gets, and never less."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.driver_cases import SETUP_CASES, quantiles_ms
from tests.support.jobs import cell
from tests.support.latency_servers import truth_server
from tests.support.waiting import TIMEOUT_S
from wirebench.drivers import DRIVERS, Job
from wirebench.measure.observe import observe
from wirebench.measure.proxy import PAIRS_MAX
from wirebench.model.cell import Link
from wirebench.model.contract import Connection, Driver, Transport
from wirebench.model.scenario import Load
from wirebench.targets import toxiproxy
from wirebench.targets.toxiproxy import start_toxiproxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timing,
    pytest.mark.skipif(
        toxiproxy.read_version() is None or DRIVERS["wireload"].read_version() is None,
        reason="the tools are not built: make setup",
    ),
]

#: What a connection of a server does, from its beginning to its end.
Serve = Callable[[socket.socket], None]


def echo(connection: socket.socket) -> None:
    """Send back what comes."""
    while piece := connection.recv(65_536):
        connection.sendall(piece)


@contextmanager
def listening(serve: Serve) -> Iterator[str]:
    """Serve connections one after the other, each by a function, and yield the address."""

    def accept(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with closing(connection):
                serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, args=(server,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=10)


@contextmanager
def connected(folder: Path, link: Link, serve: Serve) -> Iterator[socket.socket]:
    """Connect to a server through a link."""
    with listening(serve) as upstream, start_toxiproxy(folder / "toxiproxy.log", None) as proxy:
        host, _, port = proxy.open_route(upstream, link).rpartition(":")
        with socket.create_connection((host, int(port)), TIMEOUT_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield connection


def round_trips_ms(connection: socket.socket, count: int, size: int = 64) -> list[float]:
    """Send so many bytes and wait until they are back, so many times."""
    took_ms = []
    for _ in range(count):
        before, left = time.perf_counter(), size
        connection.sendall(bytes(size))
        while left:
            left -= len(connection.recv(65_536))
        took_ms.append((time.perf_counter() - before) * 1000)
    return sorted(took_ms)


@pytest.mark.parametrize("delay_ms", [1, 20])
def test_a_round_trip_takes_longer_by_the_delay(tmp_path: Path, delay_ms: int) -> None:
    """All of it is added once, and not once in each direction."""
    with connected(tmp_path, Link(delay_ms), echo) as connection:
        took_ms = round_trips_ms(connection, 40)
    assert delay_ms <= took_ms[0] <= took_ms[20] < delay_ms + 8


def test_the_last_reply_comes_before_the_end(tmp_path: Path) -> None:
    """A server that answers and hangs up, as one that drains does, is heard to the end: delayed, and then closed."""

    def answer_and_hang_up(connection: socket.socket) -> None:
        connection.sendall(connection.recv(3) * 10_000)

    with connected(tmp_path, Link(50), answer_and_hang_up) as connection:
        connection.sendall(b"yes")
        heard = b""
        while piece := connection.recv(65_536):
            heard += piece
    assert b"yes" * 10_000 == heard


def test_a_client_that_hangs_up_is_noticed(tmp_path: Path) -> None:
    """The server sees the end of the connection: a client cancels so."""
    noticed = threading.Event()

    def wait_for_the_end(connection: socket.socket) -> None:
        echo(connection)
        noticed.set()

    with connected(tmp_path, Link(20), wait_for_the_end) as connection:
        round_trips_ms(connection, 1)
        connection.close()
        assert noticed.wait(TIMEOUT_S)


@pytest.mark.parametrize(("transport", "driver"), SETUP_CASES)
def test_a_delay_is_found_on_top_of_a_known_latency(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """A server that takes 20 ms, 20 ms away, is measured as 40 ms; and the proxy alone as next to nothing."""
    (least, median), added_ms = through_a_delay(tmp_path, transport, driver, "keep")
    assert 39.9 <= least <= median <= 60
    assert -5 < added_ms < 5


@pytest.mark.parametrize("transport", ["rest", "grpc", "socket"])
def test_a_reopened_connection_is_delayed_as_well(tmp_path: Path, transport: Transport) -> None:
    """With a connection for every request, each of them goes through the link."""
    (least, median), _ = through_a_delay(tmp_path, transport, "wireload", "reopen")
    assert 39.9 <= least <= median <= 90


def through_a_delay(
    folder: Path, transport: Transport, driver: Driver, connection: Connection
) -> tuple[list[float], float]:
    """Load a server of 20 ms through a delay of 20 ms; return the least and the median latency and the proxy's own."""
    shaped = cell(transport, driver, connection=connection, delay_ms=20)
    load = Load(model="closed", warmup_s=0.2, window_s=0.8)
    with truth_server(transport, folder, "-behaviour", "constant", "-latency", "20ms") as address:
        observed = observe(Job(shaped, load, address, 1, 1, folder / "out.json", folder / "out.log", None), (), None)
    assert {"ok"} == set(observed.file.count_by_code())
    assert observed.proxy is not None
    assert observed.proxy.added_ms is not None
    assert observed.proxy.cpu_s is not None
    assert 0 < observed.proxy.cpu_s < observed.window_s
    assert 5 <= observed.proxy.pairs <= PAIRS_MAX
    return quantiles_ms(observed.file, 0, 0.5), observed.proxy.added_ms
