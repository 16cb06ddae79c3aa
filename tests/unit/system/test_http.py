"""The HTTP client, on servers whose replies have no end."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from wirebench.system.http import fetch

_INTERVAL_S = 0.02
#: So long no machine is too busy to shut a connection down.
_HANGING_S = 30.0


@contextlib.contextmanager
def serve_drip(begin: bytes, drop: bytes) -> Iterator[str]:
    """Answer one request with a beginning, and with the same bytes again and again until the client leaves."""

    def drip() -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(begin)
            while True:
                connection.sendall(drop)
                time.sleep(_INTERVAL_S)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip)
        thread.start()
        yield "http://{}:{}/".format(*server.getsockname())
        thread.join()


@pytest.mark.parametrize(
    ("begin", "drop"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"a"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"a"),
    ],
)
def test_a_deadline_is_that_of_the_whole_exchange(begin: bytes, drop: bytes) -> None:
    """Bytes that come in time, one by one, don't prolong it."""
    started_s = time.monotonic()
    with serve_drip(begin, drop) as url, pytest.raises(TimeoutError, match=r"no whole reply within 0\.5 s"):
        fetch(url, timeout_s=0.5)
    assert time.monotonic() - started_s < _HANGING_S
