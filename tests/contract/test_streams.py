"""Streams: what they give, that they wait for slow clients, and end when clients leave or services stop."""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from wirebench_proto import ledger_pb2
from wirebench_services.client import Client, Reply

from tests.support.services import (
    REST_KINDS,
    RUNTIME_KINDS,
    SOCKET_KINDS,
    Kind,
    Service,
    started,
)
from tests.support.waiting import TIMEOUT_S, wait_until

STREAM = "ledger.stream_transactions"
METHOD = "/wirebench.v1.LedgerService/StreamTransactions"
FIRST = {
    "id": 1,
    "time": 1_767_225_600,
    "from_account_id": 5219,
    "to_account_id": 1391,
    "amount_cents": 33_066,
    "currency": "EUR",
    "reference": "WB-2026-00000001",
    "description": "Rent, from account 05219 to account 01391",
}
NOON_S = 1_767_268_800

every_runtime = pytest.mark.parametrize("service", RUNTIME_KINDS, ids=str, indirect=True)


def read(client: Client, **fields: object) -> tuple[list[dict[str, Any]], Reply]:
    """Read a stream to its end; return its items, and how it ended."""
    *items, ended = client.stream(STREAM, fields)
    return items, ended


def ids_of(items: list[dict[str, Any]]) -> list[int]:
    """Return the ids of transactions."""
    return [item["id"] for item in items]


def counted(service: Service) -> Counter[str]:
    """Return how many streams the service has counted, by code."""
    return Counter({code: count for (operation, code), count in service.counts().items() if operation == STREAM})


def test_a_stream(client: Client) -> None:
    """Transactions come whole, in order, up to the limit, over as many pages as it takes; then the end."""
    items, ended = read(client, limit=300)

    assert FIRST == items[0]
    assert list(range(1, 301)) == ids_of(items)
    assert Reply("ok", "") == ended


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"since": NOON_S, "limit": 2}, [50_001, 50_002]),
        ({"since": 1_767_311_999}, [100_000]),
        ({"since": 1_767_312_000}, []),
        ({"since": 0, "limit": 1}, [1]),
        ({"limit": 1, "rate_limit": 1}, [1]),
    ],
)
def test_what_was_asked_for(client: Client, fields: dict[str, object], expected: list[int]) -> None:
    """From a second on, which may be behind the last one; nothing is no failure."""
    items, ended = read(client, **fields)

    assert (expected, Reply("ok", "")) == (ids_of(items), ended)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"since": -1}, "Field 'since' must be between 0 and 2147483647."),
        ({"rate_limit": 0}, "Field 'rate_limit' must be between 1 and 1000000."),
        ({"rate_limit": 1_000_001}, "Field 'rate_limit' must be between 1 and 1000000."),
        ({"limit": 0}, "Field 'limit' must be between 1 and 100000."),
        ({"limit": 2**31 - 1}, "Field 'limit' must be between 1 and 100000."),
    ],
)
def test_bad_input(client: Client, fields: dict[str, object], expected: str) -> None:
    """The field is named with its range, before the first item, and in the same words everywhere."""
    assert ([], Reply("invalid_argument", expected)) == read(client, **fields)


@pytest.mark.parametrize("service", REST_KINDS, ids=str, indirect=True)
def test_events(service: Service) -> None:
    """Events are JSON with ids, whatever the client accepts, and the last one says that it is."""
    response = service.request("GET", "/transactions/stream?limit=1", headers={"Accept": "application/x-protobuf"})

    assert (200, "text/event-stream") == (response.status, response.headers["content-type"])
    assert "no-cache" == response.headers["cache-control"]
    message, end, nothing = response.body.decode().split("\n\n")
    first, _, second = message.partition("\n")
    assert ("id: 1", FIRST) == (first, json.loads(second.removeprefix("data: ")))
    assert ("event: end\ndata: {}", "") == (end, nothing)


def frame(request_id: int, method: str, body: bytes = b"") -> bytes:
    """Return a request frame."""
    payload = struct.pack(">IB", request_id, len(method)) + method.encode() + body
    return struct.pack(">I", len(payload)) + payload


def frames_of(data: bytes) -> Iterator[tuple[int, int, int, str]]:
    """Yield id, status, flags and message of reply frames."""
    while data:
        length, request_id, status, flags, message_length = struct.unpack_from(">IIBBH", data)
        yield request_id, status, flags, data[12 : 12 + message_length].decode()
        data = data[4 + length :]


def ends_of(data: bytes) -> int:
    """Return how many whole last frames there are."""
    with contextlib.suppress(struct.error):
        return sum(not flags for _, _, flags, _ in frames_of(data))
    return 0


def until(connection: socket.socket, is_enough: Callable[[bytes], bool]) -> bytes:
    """Return what comes until it is enough."""
    received = b""
    while not is_enough(received):
        part = connection.recv(65_536)
        assert part, received
        received += part
    return received


@pytest.mark.parametrize("service", SOCKET_KINDS, ids=str, indirect=True)
def test_cancelling_on_the_wire(service: Service) -> None:
    """A cancelled stream ends with its end mark; what cancels nothing has no answer. Requests wait for its end."""
    with contextlib.closing(socket.create_connection(service.address, TIMEOUT_S)) as connection:
        connection.sendall(b"WB1J" + frame(9, "cancel") + frame(7, STREAM, b'{"rate_limit":1}'))
        assert [(7, 0, 1, "")] == list(frames_of(until(connection, bool)))
        connection.sendall(frame(7, "cancel"))
        frames = list(frames_of(until(connection, lambda data: ends_of(data) == 1)))
        assert (7, 1, 0, "The stream was cancelled.") == frames[-1]
        waiting = frame(8, "echo.upper", b'{"text":"a"}')
        connection.sendall(frame(7, STREAM, b'{"limit":2}') + waiting + frame(8, "cancel") + waiting)
        answered = [(7, 0, 1, "")] * 2 + [(7, 0, 0, "")] + [(8, 0, 0, "Text upper-cased successfully")] * 2
        assert answered == list(frames_of(until(connection, lambda data: ends_of(data) == 3)))


@every_runtime
def test_streams_are_counted_once(service: Service, client: Client) -> None:
    """A stream is one request, with the duration of the whole."""

    def observed_s() -> float:
        samples = service.samples("wirebench_request_duration_seconds_sum")
        return sum(value for labels, value in samples if labels["operation"] == STREAM)

    service.settle()
    before_s, before_counts = observed_s(), counted(service)

    read(client, limit=100, rate_limit=400)

    wait_until(lambda: counted(service) != before_counts, "the stream is counted")
    assert Counter(ok=1) == counted(service) - before_counts
    assert 0.2 < observed_s() - before_s < TIMEOUT_S


class Reader:
    """A client that asks for a stream, and reads of it only what it is told to."""

    def __init__(self, service: Service, *, rate_limit: int | None = None) -> None:
        self._closing = contextlib.ExitStack()
        self._items: Any = None
        fields = {"rate_limit": rate_limit} if rate_limit else {}
        if service.kind.transport == "grpc":
            channel = self._closing.enter_context(
                grpc.insecure_channel(str(service.address), [("grpc.use_local_subchannel_pool", 1)])
            )
            call: Callable[..., Any] = channel.unary_stream(METHOD)
            self._items = call(ledger_pb2.StreamTransactionsRequest(**fields).SerializeToString())
            self._closing.callback(self._items.cancel)
            next(self._items)
            return
        connection = self._connection = self._closing.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        connection.settimeout(TIMEOUT_S)
        connection.connect(service.address)
        if service.kind.transport == "rest":
            query = f"?rate_limit={rate_limit}" if rate_limit else ""
            connection.sendall(f"GET /transactions/stream{query} HTTP/1.1\r\nHost: test\r\n\r\n".encode())
        else:
            connection.sendall(b"WB1J" + frame(1, STREAM, json.dumps(fields).encode()))
        assert connection.recv(500)

    def receive(self, count_bytes: int) -> None:
        """Read on, without gRPC. Fails where the stream is cut."""
        while count_bytes > 0:
            part = self._connection.recv(min(count_bytes, 65_536))
            assert part, f"{count_bytes} bytes before the end"
            count_bytes -= len(part)

    def close(self) -> None:
        """Leave."""
        self._closing.close()


@every_runtime
@pytest.mark.parametrize("rate_limit", [1, None], ids=["slow", "unread"])
def test_clients_that_leave(service: Service, rate_limit: int | None) -> None:
    """It is noticed when the next item is due, also of a stream without a reader, and counted as such."""
    service.settle()
    before = counted(service)

    Reader(service, rate_limit=rate_limit).close()

    wait_until(lambda: Counter(cancelled=1) == counted(service) - before, "the stream is counted")


def memory_of(service: Service) -> float:
    """Return the resident memory of a service's processes, in bytes."""
    supervisor = psutil.Process(service.process.pid)
    return sum(each.memory_info().rss for each in (supervisor, *supervisor.children(recursive=True)))


@every_runtime
def test_readers_that_stop_reading(service: Service, client: Client) -> None:
    """Their streams wait where they are: memory stays as it is, though each has 20 MB to come; others are served."""
    read(client, limit=10_000)  # what streams make grow has grown
    count = 4
    service.settle()
    before_bytes = memory_of(service)
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(contextlib.closing(Reader(service)))
        grown = []
        for _ in range(8):
            time.sleep(0.1)
            grown.append(memory_of(service) - before_bytes)
            assert client.call("users.get", {"id": 1_000_001}).ok
        assert statistics.median(grown) < count * 10e6, grown  # half of what is to come; garbage is in it


@pytest.mark.parametrize("kind", SOCKET_KINDS, ids=str)
def test_a_stop_ends_streams(kind: Kind, tmp_path: Path) -> None:
    """Streams end with the reason, whatever their rate, and don't hold up a stop."""
    ends: list[Reply] = []
    with started(kind, tmp_path, "--drain-timeout-s", 600) as service:
        begun = threading.Barrier(3)

        def follow(rate_limit: int) -> None:
            with service.connect() as client:
                items = client.stream(STREAM, {"rate_limit": rate_limit})
                next(items)
                begun.wait(TIMEOUT_S)
                *_, ended = items
                ends.append(ended)

        threads = [threading.Thread(target=follow, args=(rate,)) for rate in (1, 2000)]
        for thread in threads:
            thread.start()
        begun.wait(TIMEOUT_S)

        assert 0 == service.stop()

        for thread in threads:
            thread.join()
    assert [Reply("unavailable", "The service is stopping.")] * 2 == ends
