"""What net/http and grpc-go do below operations; docs/variants.md says so from these tests."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.services import GO_KINDS, GOROUTINES, GRPC_GO, NET_HTTP, Kind, Service, exchange, started
from tests.support.waiting import TIMEOUT_S
from wirebench.drivers.clients import ClientError, RestClient

STREAM = "ledger.stream_transactions"

on_rest = pytest.mark.parametrize("service", [NET_HTTP], ids=str, indirect=True)
every_transport = pytest.mark.parametrize("kind", GO_KINDS, ids=str)


@on_rest
@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("GET", "/nope", 404, None),
        ("GET", "/api/users/", 404, None),
        ("GET", "//api/users", 307, None),  # the mux cleans paths
        ("DELETE", "/api/users", 405, "GET, HEAD, POST"),
        ("PATCH", "/api/users/7", 405, "DELETE, GET, HEAD, PUT"),
        ("PUT", "/api/users/batch", 400, None),  # a user with the id "batch"
        ("FOO", "/echo", 405, "POST"),
    ],
)
def test_paths_and_methods(client: RestClient, method: str, path: str, status: int, allow: str | None) -> None:
    """The mux answers in plain text, and 405 with the methods that there are."""
    response = client.request(method, path)

    assert (status, allow) == (response.status, response.headers.get("allow"))


@on_rest
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET\r\n\r\n", 400),
        (b"\x16\x03\x01\x00\xa5\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 70_000 + b"\r\n\r\n", 404),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * (1 << 21) + b"\r\n\r\n", 431),
    ],
    ids=["garbage", "TLS", "70 KB head", "2 MiB head"],
)
def test_heads(service: Service, sent: bytes, status: int) -> None:
    """What is no HTTP gets 400, and a head of more than 1 MiB gets 431."""
    assert exchange(service.address, sent).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost", b"HTTP/1.1 400 "),
        (b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", b"HTTP/1.1 400 "),
    ],
    ids=["nothing", "head", "body"],
)
def test_slow_clients_of_rest(sent: bytes, expected: bytes, tmp_path: Path) -> None:
    """After the read timeout a request that has begun gets 400, and the connection is closed."""
    with started(NET_HTTP, tmp_path, "--read-timeout-s", 0.5) as service:
        assert exchange(service.address, sent, half_close=False)[: len(expected) or 1] == expected


@pytest.mark.parametrize("kind", [NET_HTTP, GRPC_GO], ids=str)
def test_streams_end_when_the_service_stops(kind: Kind, tmp_path: Path) -> None:
    """Open streams end at once with the reason, which is the application's doing."""
    with started(kind, tmp_path, "--drain-timeout-s", 600) as service, service.connect() as client:
        items: Any = client.stream(STREAM, {"rate_limit": 100})
        next(items)
        service.process.terminate()
        words = ""
        try:
            list(items)
            words = items.reply.message
        except ClientError as error:  # gRPC's own status of a connection that failed can't be told from this one
            words = error.message
        assert words.endswith("The service is stopping.")
        client.close()
        assert 0 == service.process.wait(TIMEOUT_S)


@pytest.mark.timing
def test_silent_clients_hold_up_a_stop(tmp_path: Path) -> None:
    """net/http gives a new connection 5 s for its first request, also when it stops; the socket service doesn't."""
    for kind in (NET_HTTP, GOROUTINES):
        with started(kind, tmp_path) as service, socket.create_connection(service.address, TIMEOUT_S):
            time.sleep(0.2)
            begun_s = time.monotonic()
            assert 0 == service.stop()
            assert (kind == NET_HTTP) == (time.monotonic() - begun_s > 2)


@every_transport
def test_an_empty_store(kind: Kind, tmp_path: Path) -> None:
    """No users are seeded with --seed-users 0."""
    with started(kind, tmp_path, "--seed-users", 0) as service, service.connect() as client:
        assert [] == client.call("users.list", {}).data
