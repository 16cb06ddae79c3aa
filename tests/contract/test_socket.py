"""What only the socket has: prefaces, frames, pipelining, line mode, and streams that are neither."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from wirebench_services.client import Client, SocketClient

from tests.support.services import SOCKET_KINDS, Service, exchange, receive_all, started
from wirebench.system.paths import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/socket.json").read_text(encoding="utf-8"))
PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
LINE_BYTES_MAX = 64 * 1024
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED = 3, 8, 12

pytestmark = pytest.mark.parametrize("service", SOCKET_KINDS, ids=str, indirect=True)


def frame(request_id: int, method: bytes, body: bytes) -> bytes:
    """Return a request frame."""
    payload = struct.pack(">IB", request_id, len(method)) + method + body
    return struct.pack(">I", len(payload)) + payload


def replies_of(data: bytes) -> Iterator[tuple[int, int, str, bytes]]:
    """Yield id, status, message and body of reply frames."""
    while data:
        length, request_id, status, message_length = struct.unpack_from(">IIBH", data)
        payload, data = data[11 : 4 + length], data[4 + length :]
        yield request_id, status, payload[:message_length].decode(), payload[message_length:]


def upper(request_id: int, text: str) -> bytes:
    """Return a request frame that has text upper-cased."""
    return frame(request_id, b"echo.upper", json.dumps({"text": text}).encode())


def test_many_clients_at_once(service: Service) -> None:
    """Clients of both encodings are served side by side, and get their own replies."""

    def converse(number: int) -> list[object]:
        with SocketClient(service.address, codec="json" if number % 2 else "protobuf") as client:
            return [client.call("echo.upper", {"text": f"client {number} call {call}"}).data for call in range(20)]

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(converse, range(32)))

    assert [[{"text": f"CLIENT {number} CALL {call}"} for call in range(20)] for number in range(32)] == answers


def test_pipelining(service: Service) -> None:
    """Requests may follow each other before any is answered; every one gets its reply."""
    count = 1000
    received = exchange(service.address, b"WB1J", b"".join(upper(number, f"n{number}") for number in range(count)))

    expected = {
        number: (0, json.dumps({"text": f"N{number}"}, separators=(",", ":")).encode()) for number in range(count)
    }
    assert expected == {number: (status, body) for number, status, _, body in replies_of(received)}


def test_any_fragmentation(service: Service) -> None:
    """How the bytes are cut into packets makes no difference."""
    stream = b"WB1J" + upper(1, "a") + upper(2, "b")
    with socket.create_connection(service.address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in stream:
            connection.sendall(bytes([byte]))
            time.sleep(0.0005)
        connection.shutdown(socket.SHUT_WR)
        received = receive_all(connection)

    assert [(1, 0), (2, 0)] == [(number, status) for number, status, _, _ in replies_of(received)]


@pytest.mark.parametrize("preface", [b"WB1J", b"WB1P"])
def test_unknown_methods_and_bad_bodies(service: Service, preface: bytes) -> None:
    """An unknown method and a body that doesn't parse are rejected, and the connection keeps working."""
    received = exchange(
        service.address,
        preface,
        frame(1, b"users.nope", b""),
        frame(2, b"", b""),
        frame(3, b"\xff\xfe", b""),
        frame(4, b"users.create", b"\xff\xff"),
        frame(2**32 - 1, b"users.list", b""),
    )

    answers = {number: (status, message) for number, status, message, _ in replies_of(received)}
    assert (UNIMPLEMENTED, "Unknown method: users.nope.") == answers[1]
    assert (UNIMPLEMENTED, "Unknown method: .") == answers[2]
    assert (UNIMPLEMENTED, "Unknown method: \\xff\\xfe.") == answers[3]
    assert INVALID_ARGUMENT == answers[4][0]
    assert answers[4][1].startswith("The body is not ")
    assert (0, "Users retrieved successfully") == answers[2**32 - 1]


def test_the_requests_of_the_vectors_are_read(service: Service) -> None:
    """Each gets a reply to its id; a frame that lacks fields is rejected by its id or by 0, and ends the connection."""
    for vector in VECTORS["requests"]:
        preface = bytes.fromhex(VECTORS["prefaces"][vector["encoding"]])
        received = exchange(service.address, preface, bytes.fromhex(vector["hex"]))
        assert [vector["id"]] == [request_id for request_id, *_ in replies_of(received)], vector["name"]
    for vector in VECTORS["malformed_requests"]:
        received = exchange(service.address, b"WB1J", bytes.fromhex(vector["hex"]), half_close=False)
        ((request_id, status, message, _),) = replies_of(received)
        assert (int(vector["hex"][8:16] or "0", 16), INVALID_ARGUMENT) == (request_id, status), vector["name"]
        assert "The frame is shorter than its fields." == message


@pytest.mark.parametrize("user", [b"[]", b"0", b"false", b'""'])
def test_a_user_that_is_no_object(service: Service, user: bytes) -> None:
    """It is named as such; REST's body is the user itself."""
    received = exchange(service.address, b"WB1J", frame(1, b"users.create", b'{"user": %b}' % user))

    assert [(1, INVALID_ARGUMENT, "A user must be an object.", b"")] == list(replies_of(received))


@pytest.mark.parametrize("sent_bytes", [0, 100, PAYLOAD_BYTES_MAX], ids=["header only", "a little", "all of it"])
def test_frames_over_the_limit(service: Service, client: Client, sent_bytes: int) -> None:
    """A longer payload is rejected by its id, whatever of it arrives, and the connection is closed."""
    header = struct.pack(">IIB", PAYLOAD_BYTES_MAX + 1, 77, 10) + b"echo.upper"
    received = exchange(service.address, b"WB1J", header, bytes(sent_bytes), upper(2, "never read"), half_close=False)

    ((request_id, status, message, body),) = replies_of(received)
    assert (77, RESOURCE_EXHAUSTED, b"") == (request_id, status, body)
    assert str(PAYLOAD_BYTES_MAX) in message
    assert client.call("users.get", {"id": 1_000_001}).ok


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"Hello World\n", b"HELLO WORLD\n"),
        (b"Hello World\r\n", b"HELLO WORLD\n"),
        (b"Hello World", b"HELLO WORLD\n"),
        (b"a\nb\n\nc", b"A\nB\n\nC\n"),
        ("größe\n".encode(), "GRÖSSE\n".encode()),
        (b"WB1X or not\n", b"WB1X OR NOT\n"),
        (b"WB1", b"WB1\n"),
        (b"wb\n", b"WB\n"),
        (b"\x00\x01\x02\n", b"\x00\x01\x02\n"),
        (b"", b""),
    ],
)
def test_line_mode(service: Service, sent: bytes, expected: bytes) -> None:
    """What opens with no preface is text: every line comes back upper-cased."""
    assert expected == exchange(service.address, sent)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"ok\n\xff\xfe\n", b"OK\nERROR: The line is not valid UTF-8.\n"),
        (b"x" * (LINE_BYTES_MAX + 1) + b"\n", b"ERROR: The line is longer than 65536 bytes.\n"),
        (b"x" * (LINE_BYTES_MAX * 40), b"ERROR: The line is longer than 65536 bytes.\n"),
        (b"GET / HTTP/1.1\r\n\xc3\x28\r\n", b"GET / HTTP/1.1\nERROR: The line is not valid UTF-8.\n"),
    ],
    ids=["utf8", "long", "endless", "http"],
)
def test_lines_that_are_none(service: Service, client: Client, sent: bytes, expected: bytes) -> None:
    """A line that is too long or no text gets its reason, and the connection is closed."""
    assert expected == exchange(service.address, sent, half_close=False)
    assert client.call("users.get", {"id": 1_000_001}).ok


@pytest.fixture(scope="module")
def impatient(service: Service, logs: Path) -> Iterator[Service]:
    """Return a service of the same kind that waits for no client for long."""
    with started(service.kind, logs, "--read-timeout-s", 0.5, "--idle-timeout-s", 1.5) as running:
        yield running


@pytest.mark.parametrize(
    "sent",
    [b"", b"WB1J" + upper(1, "a")[:6], b"half a line"],
    ids=["nothing", "frame", "line"],
)
def test_half_open_clients_are_closed(impatient: Service, sent: bytes) -> None:
    """A client that stops half-way is closed after the read time-out."""
    before = time.monotonic()

    assert b"" == exchange(impatient.address, sent, half_close=False)
    assert 0.2 < time.monotonic() - before


def test_idle_clients_are_closed(impatient: Service) -> None:
    """A client between requests has the longer idle time-out."""
    before = time.monotonic()

    received = exchange(impatient.address, b"WB1J", upper(1, "a"), half_close=False)

    assert [(1, 0)] == [(number, status) for number, status, _, _ in replies_of(received)]
    assert 0.8 < time.monotonic() - before
