"""Streams: what they give, that they wait for slow clients, and end when clients leave or services stop."""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import grpc
import psutil
import pytest
from wirebench_proto import ledger_pb2
from wirebench_services.client import Client, Reply

from tests.support.services import (
    GRPC_GO,
    GRPC_KINDS,
    GRPC_SYNC,
    GTHREAD,
    NET_HTTP,
    REST_KINDS,
    Service,
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

every_runtime = pytest.mark.parametrize("service", [*REST_KINDS, *GRPC_KINDS], ids=str, indirect=True)
defaults = pytest.mark.parametrize("service", [GTHREAD, GRPC_SYNC, NET_HTTP, GRPC_GO], ids=str, indirect=True)


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


@defaults
def test_a_stream(client: Client) -> None:
    """Transactions come whole, in order, up to the limit, over as many pages as it takes; then the end."""
    items, ended = read(client, limit=300)

    assert FIRST == items[0]
    assert list(range(1, 301)) == ids_of(items)
    assert Reply("ok", "") == ended


@defaults
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


@defaults
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
        connection = self._closing.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        connection.settimeout(TIMEOUT_S)
        connection.connect(service.address)
        query = f"?rate_limit={rate_limit}" if rate_limit else ""
        connection.sendall(f"GET /transactions/stream{query} HTTP/1.1\r\nHost: test\r\n\r\n".encode())
        assert connection.recv(500)

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
