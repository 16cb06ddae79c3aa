"""What clients take for a reply, byte by byte, from a listener that plays a script."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from wirebench_services.client import Client, ClientError, Reply, RestClient, SocketClient

from tests.support.waiting import TIMEOUT_S
from wirebench.model.address import Address
from wirebench.system.paths import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/socket.json").read_text(encoding="utf-8"))


class Script:
    """Answers each connection with prepared bytes, once something has come, and remembers what came."""

    def __init__(self, server: socket.socket, answers: list[bytes]) -> None:
        self.address = Address(*server.getsockname()[:2])
        self.received: list[bytes] = []
        self._server = server
        self._answers = answers

    def play(self) -> None:
        """Serve one connection after the other."""
        with contextlib.suppress(OSError):
            for left, answer in reversed(list(enumerate(reversed(self._answers)))):
                connection, _ = self._server.accept()
                if not left:
                    self._server.close()  # no client has to wait for an answer that won't come
                with connection:
                    self.received.append(connection.recv(65_536))
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)
                    while part := connection.recv(65_536):
                        self.received[-1] += part


@contextlib.contextmanager
def playing(*answers: bytes) -> Iterator[Script]:
    """Listen, and answer the connections in turn."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = Script(server, list(answers))
        thread = threading.Thread(target=script.play, daemon=True)
        thread.start()
        yield script
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        thread.join(TIMEOUT_S)


@pytest.mark.parametrize("vector", VECTORS["malformed_replies"], ids=lambda vector: vector["name"])
def test_malformed_replies(vector: dict[str, Any]) -> None:
    """What the vectors call malformed is no reply."""
    with (
        playing(bytes.fromhex(vector["hex"])) as script,
        SocketClient(script.address, TIMEOUT_S) as client,
        pytest.raises(ClientError, match=r"gave no reply of the contract for socket|hung up"),
    ):
        client.call("users.get", {"id": 7})


@pytest.mark.parametrize(
    "answer",
    [
        b"\x00\x00\x00\x07\x00\x00\x00\x02\x00\x00\x00",
        b"\x00\x00\x00\x07\x00\x00\x00\x01\x63\x00\x00",
        b"\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00{",
    ],
    ids=["another id", "unknown status", "no JSON"],
)
def test_replies_that_are_none(answer: bytes) -> None:
    """A reply to something else, or with a body that doesn't parse, is no reply."""
    with (
        playing(answer) as script,
        SocketClient(script.address, TIMEOUT_S) as client,
        pytest.raises(ClientError, match="gave no reply of the contract for socket: "),
    ):
        client.call("users.get", {"id": 7})


def http(status: str, body: bytes, headers: str = "") -> bytes:
    """Return an HTTP response."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        http("200 OK", b"<html>"),
        http("200 OK", b'{"status": "ok"}'),
        http("200 OK", b"[]"),
        http("302 Found", b'{"success": false, "data": null, "message": "x"}'),
        http("200 OK", b'{"success": false, "data": null, "message": "x"}'),
    ],
    ids=["ssh", "html", "other JSON", "no object", "other status", "contradiction"],
)
def test_http_that_is_not_the_api(answer: bytes) -> None:
    """HTTP without the envelope, or none at all, is not taken for a reply."""
    with (
        playing(answer) as script,
        RestClient(script.address, TIMEOUT_S) as client,
        pytest.raises(ClientError, match="gave no reply of the contract for rest: "),
    ):
        client.call("users.get", {"id": 7})


def test_rest_connects_again_when_it_has_to() -> None:
    """A connection that the server has closed between requests is replaced, without a word."""
    good = http("200 OK", b'{"success": true, "data": {"text": "A"}, "message": "m"}')
    with playing(good, good) as script, RestClient(script.address, TIMEOUT_S) as client:
        for _ in range(2):
            assert Reply("ok", "m", {"text": "A"}) == client.call("echo.upper", {"text": "a"})
            # The close comes in a packet of its own, a moment after the reply.
            assert client._socket
            assert select.select([client._socket], [], [], TIMEOUT_S)[0]

    assert [b"POST /upper HTTP/1.1", b"POST /upper HTTP/1.1"] == [each.split(b"\r\n")[0] for each in script.received]


@pytest.mark.parametrize(
    ("kind", "start", "rest"),
    [
        (RestClient, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n", b"x"),
        (RestClient, b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (SocketClient, b"\x0f\xff\xff\xff\x00\x00\x00\x01\x00\x00\x00", b"x"),
    ],
    ids=["body", "interim replies", "frame"],
)
def test_the_timeout_is_that_of_the_whole_exchange(kind: type[Client], start: bytes, rest: bytes) -> None:
    """A reply that comes byte by byte is given up in time."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(start)
                while connection.send(rest):
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        begun_s = time.monotonic()
        with (
            kind(server.getsockname(), 0.5) as client,
            pytest.raises(ClientError, match=r"did not answer within 0\.5 s"),
        ):
            client.call("users.get", {"id": 7})
    assert time.monotonic() - begun_s < TIMEOUT_S / 2


def test_a_reply_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer one is rejected."""
    monkeypatch.setattr("wirebench_services.client.rest.REPLY_BYTES_MAX", 1000)
    with (
        playing(http("200 OK", bytes(1001))) as script,
        RestClient(script.address, TIMEOUT_S) as client,
        pytest.raises(ClientError, match="longer than 1000 bytes"),
    ):
        client.call("users.get", {"id": 7})


@pytest.mark.parametrize("fields", [{"id": "x"}, {"id": 2**31}, {"id": 1.5}, {"nope": 1}])
def test_fields_that_a_request_does_not_have(fields: dict[str, object]) -> None:
    """They are the caller's mistake, found before anything is connected."""
    with pytest.raises(ClientError, match=r"users\.get can't have these fields: .+"):
        RestClient(("127.0.0.1", 1)).call("users.get", fields)
