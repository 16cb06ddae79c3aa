"""Which clients a gRPC service that stops hangs up on: those that have said less than HTTP/2 begins with."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.grpc import silent_clients

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="connections are found in Linux's way")

TIMEOUT_S = 10.0
#: The system gives it to nobody who asks for any.
NOBODYS_PORT = 1
#: The connection preface, and the head of the SETTINGS frame that follows it (RFC 9113, 3.4 and 4.1).
OPENING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


@contextlib.contextmanager
def connected(listener: socket.socket, said: bytes) -> Iterator[socket.socket]:
    """Yield the client's end of a connection on which the server's end has got these bytes, and read none."""
    with socket.create_connection(listener.getsockname()[:2], TIMEOUT_S) as client:
        accepted, _ = listener.accept()
        with accepted:
            client.sendall(said)
            if said:
                accepted.settimeout(TIMEOUT_S)
                assert said == accepted.recv(len(said), socket.MSG_PEEK | socket.MSG_WAITALL)
            yield client


def is_hung_up(client: socket.socket) -> bool:
    """Return whether the server has ended the connection."""
    client.settimeout(0.2)
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False


def open_files() -> int:
    """Return how many files this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize(("said", "expected"), [(b"", True), (OPENING[:-1], True), (OPENING, False)])
def test_who_has_not_opened_http2_is_hung_up_on(said: bytes, expected: bool) -> None:  # noqa: FBT001
    """To the byte: the preface and the head of the first frame are the least that a client says."""
    with socket.create_server(("127.0.0.1", 0)) as listener, connected(listener, said) as client:
        silent_clients.hang_up(listener.getsockname()[1])
        assert expected == is_hung_up(client)


def test_a_client_of_another_port_is_left_alone() -> None:
    """The admin port's connections, and those that the process has made itself, aren't ours to end."""
    with socket.create_server(("127.0.0.1", 0)) as listener, connected(listener, b"") as client:
        silent_clients.hang_up(NOBODYS_PORT)
        assert not is_hung_up(client)


def test_files_of_all_kinds_are_looked_at_and_none_is_kept_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong with a file, its copy is closed: a service that stops looks four times a second."""
    plain: Callable[..., socket.socket] = socket.socket

    def failing(*arguments: object, fileno: int | None = None) -> socket.socket:
        if fileno is not None:
            raise OSError("no more memory for sockets")
        return plain(*arguments)

    reading, writing = os.pipe()
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener, connected(listener, b""):
            before = open_files()
            silent_clients.hang_up(NOBODYS_PORT)
            assert before == open_files()
            monkeypatch.setattr(socket, "socket", failing)
            silent_clients.hang_up(listener.getsockname()[1])
            assert before == open_files()
    finally:
        os.close(reading)
        os.close(writing)
