"""What the stock servers of REST do below operations: docs/variants.md has the same facts as a table.

None of this is our own code. If a new version of a server behaves differently, change the page with the test.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.services import (
    GRANIAN,
    GTHREAD,
    GUNICORN_SYNC,
    UVICORN,
    Kind,
    Service,
    exchange,
    receive_all,
    started,
)
from tests.support.waiting import TIMEOUT_S

SERVERS = (GTHREAD, GUNICORN_SYNC, UVICORN, GRANIAN)
#: Those that run Starlette on an event loop.
ASGI = {UVICORN, GRANIAN}
#: Where a server's answer stands among those of gunicorn, uvicorn and granian.
PLACES = {GTHREAD: 0, GUNICORN_SYNC: 0, UVICORN: 1, GRANIAN: 2}
HOST = b"Host: x\r\n"
CLOSE = b"Connection: close\r\n"
GET = b"GET /api/users/1000001 HTTP/1.1\r\n" + HOST
LIMIT_BYTES = 4 * 1024 * 1024
#: Twice the idle timeout: what is still open then, no timeout closes.
OPEN_S = 2.0
IDLE_S = 1
THREADS = 2
#: What clients may leave unfinished.
UNFINISHED = {
    "nothing": b"",
    "line": b"POST /upper HT",
    "headers": b"POST /upper HTTP/1.1\r\nHost: x\r\nContent-Le",
    "body": b'POST /upper HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"te',
}


@pytest.fixture(scope="module", params=SERVERS, ids=str)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service with short timeouts and two threads."""
    kind: Kind = request.param
    with pytest.MonkeyPatch.context() as patch:
        if kind == GUNICORN_SYNC:  # its default is 30 s
            patch.setenv("GUNICORN_CMD_ARGS", "--timeout 3")
        flags = ("--idle-timeout-s", IDLE_S, "--threads", THREADS)
        with started(kind, tmp_path_factory.mktemp("server"), *flags) as running:
            yield running


def watch(connection: socket.socket, timeout_s: float) -> str:
    """Return what a connection gets next: the status of a reply, `closed`, or `open` if nothing comes in time."""
    connection.settimeout(timeout_s)
    try:
        received = connection.recv(65_536)
    except TimeoutError:
        return "open"
    except ConnectionResetError:
        return "closed"
    return received.split()[1].decode() if received else "closed"


def get_status(received: bytes) -> int:
    """Return the status of a reply."""
    return int(received.split()[1])


def is_served(service: Service) -> bool:
    """Return whether a new client gets its answer."""
    return exchange(service.address, GET + CLOSE + b"\r\n", half_close=False).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("unfinished", UNFINISHED)
def test_slow_clients(server: Service, unfinished: str) -> None:
    """Gunicorn's threads wait for ever once a request has begun; sync aborts the worker; uvicorn waits for ever.

    Granian waits for ever where nothing or the whole head came.
    """
    expected = {
        GTHREAD: "closed" if unfinished == "nothing" else "open",
        GUNICORN_SYNC: "500",
        UVICORN: "open",
        GRANIAN: "closed" if unfinished in {"line", "headers"} else "open",
    }
    timeout_s = OPEN_S if expected[server.kind] == "open" else TIMEOUT_S
    with socket.create_connection(server.address, TIMEOUT_S) as connection:
        connection.sendall(UNFINISHED[unfinished])

        assert expected[server.kind] == watch(connection, timeout_s)

    assert is_served(server)


def test_slow_clients_hold_threads(server: Service) -> None:
    """As many slow clients as gunicorn has threads keep all others waiting; an event loop serves others meanwhile."""
    slow_clients = {GTHREAD: THREADS, GUNICORN_SYNC: 1}.get(server.kind, 50)
    expected, timeout_s = ("200", TIMEOUT_S) if server.kind in ASGI else ("open", 1.0)
    with contextlib.ExitStack() as stack:
        for _ in range(slow_clients):
            slow = stack.enter_context(socket.create_connection(server.address, TIMEOUT_S))
            slow.sendall(UNFINISHED["headers"])
        last = stack.enter_context(socket.create_connection(server.address, TIMEOUT_S))
        last.sendall(GET + b"\r\n")

        assert expected == watch(last, timeout_s)

    assert is_served(server)


@pytest.mark.parametrize(
    ("line_bytes", "header_bytes", "headers", "statuses"),
    [
        (4_000, 10, 1, (200, 200, 200)),
        (5_000, 10, 1, (414, 200, 200)),
        (60_000, 10, 1, (414, 200, 200)),
        (70_000, 10, 1, (414, 400, 414)),
        (100, 8_000, 1, (200, 200, 200)),
        (100, 9_000, 1, (431, 200, 200)),
        (100, 200_000, 1, (431, 200, 200)),
        (100, 10, 90, (200, 200, 200)),
        (100, 10, 110, (431, 200, 431)),
    ],
)
def test_oversized_heads(
    server: Service, line_bytes: int, header_bytes: int, headers: int, statuses: tuple[int, int, int]
) -> None:
    """Gunicorn limits the line (4,094), each header (8,190) and their number (100); uvicorn the line only (64 KiB).

    Granian limits the line (64 KiB) and the number of headers (100).
    """
    query = b"limit=1&" * (line_bytes // 8) + b"limit=1"
    fields = b"".join(b"X-%d: %b\r\n" % (number, b"a" * header_bytes) for number in range(headers))

    received = exchange(
        server.address,
        b"GET /api/users?" + query + b" HTTP/1.1\r\n" + HOST + CLOSE + fields + b"\r\n",
        half_close=False,
    )

    assert statuses[PLACES[server.kind]] == get_status(received)


def test_oversized_bodies(server: Service) -> None:
    """Both answer 413 as soon as they know the length: Flask in the envelope, Starlette in plain text."""
    head = b"POST /upper HTTP/1.1\r\n" + HOST + CLOSE + b"Content-Length: %d\r\n\r\n" % (LIMIT_BYTES + 1)
    with socket.create_connection(server.address, TIMEOUT_S) as connection:
        connection.sendall(head)
        received = receive_all(connection)

    assert 413 == get_status(received)
    body = received.partition(b"\r\n\r\n")[2]
    if server.kind in ASGI:
        assert b"Content Too Large" == body
    else:
        envelope = json.loads(body)
        assert (False, None) == (envelope["success"], envelope["data"])


def test_oversized_chunked_bodies(server: Service) -> None:
    """Werkzeug cuts a body without a length at the limit, so that it isn't valid any more; Starlette answers 413."""
    body = b'{"text": "' + b"a" * LIMIT_BYTES + b'"}'
    head = b"POST /upper HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"

    with socket.create_connection(server.address, TIMEOUT_S) as connection:
        connection.sendall(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        status = watch(connection, TIMEOUT_S)

    assert ("413" if server.kind in ASGI else "400") == status


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"WB1J\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\r\n\r\n",
    ],
    ids=["bytes", "no path", "socket", "tls"],
)
def test_garbage(server: Service, garbage: bytes) -> None:
    """It gets 400 in the server's own words, and the connection is closed."""
    received = exchange(server.address, garbage, half_close=False)

    assert 400 == get_status(received)
    assert not received.endswith(b"}")
    assert is_served(server)


@pytest.mark.parametrize(("method", "statuses"), [(b"FOO", (405, 400, 405)), (b"get", (400, 400, 405))])
def test_unknown_methods(server: Service, method: bytes, statuses: tuple[int, int, int]) -> None:
    """Gunicorn and granian pass a method that HTTP doesn't know to the application, gunicorn only in capitals."""
    received = exchange(server.address, method + b" /echo HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n", half_close=False)

    assert statuses[PLACES[server.kind]] == get_status(received)


def test_half_open_connections(server: Service) -> None:
    """A client that closes its end after a request gets the reply; then the server closes, too.

    Granian drops a request whose client it sees leave before it has answered.
    """
    received = exchange(server.address, GET + b"\r\n")

    assert (server.kind == GRANIAN and b"" == received) or get_status(received) == 200


def test_bodies_that_end_early(server: Service) -> None:
    """Flask and, on granian, Starlette get the part that came, and answer 400; uvicorn answers nothing."""
    received = exchange(server.address, UNFINISHED["body"])

    assert b"" == received if server.kind == UVICORN else get_status(received) == 400


def test_keep_alive(server: Service) -> None:
    """All but sync, which closes it at once, keep a connection until it was idle for the timeout."""
    with socket.create_connection(server.address, TIMEOUT_S) as connection:
        connection.settimeout(TIMEOUT_S)
        for _ in range(1 if server.kind == GUNICORN_SYNC else 3):
            connection.sendall(GET + b"\r\n")
            received = b""
            while not received.endswith(b"}"):  # gunicorn sends head and body apart
                received += connection.recv(65_536)
            assert 200 == get_status(received)
            assert (server.kind == GUNICORN_SYNC) == (b"Connection: close" in received)

        assert b"" == receive_all(connection)


@pytest.mark.parametrize("kind", SERVERS, ids=str)
def test_a_stop_with_open_streams(kind: Kind, tmp_path: Path) -> None:
    """A stream may end within the drain timeout; after it, the connection is closed without a last event."""
    short, long = b"rate_limit=10&limit=15", b"rate_limit=10"
    request = b"GET /transactions/stream?%b HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n"
    queries = (long,) if kind == GUNICORN_SYNC else (short, long)
    with started(kind, tmp_path, "--drain-timeout-s", 4) as service, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(service.address, TIMEOUT_S)) for _ in queries]
        for client, query in zip(clients, queries, strict=True):
            client.sendall(request % query)
            assert "200" == watch(client, TIMEOUT_S)

        service.process.terminate()

        assert [b"event: end" in receive_all(client) for client in clients] == [query == short for query in queries]
        assert 0 == service.process.wait(TIMEOUT_S)


@pytest.mark.parametrize("kind", SERVERS, ids=str)
def test_a_stop_with_unfinished_requests(kind: Kind, tmp_path: Path) -> None:
    """Gunicorn waits for them until the drain timeout; uvicorn closes idle connections at once. All exit with 0."""
    with started(kind, tmp_path, "--drain-timeout-s", 1) as service:
        with socket.create_connection(service.address, TIMEOUT_S) as connection:
            connection.sendall(UNFINISHED["headers"])
            service.process.terminate()
            assert b"" == receive_all(connection)
        assert 0 == service.process.wait(TIMEOUT_S)
