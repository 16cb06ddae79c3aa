"""What our settings do to the stock servers: limits, timeouts, threads and the drain timeout (docs/variants.md)."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from wirebench_services.client import ClientError

from tests.support.services import (
    GRPC_AIO,
    GRPC_GO,
    GRPC_SYNC,
    GTHREAD,
    NET_HTTP,
    UVICORN,
    Kind,
    Service,
    exchange,
    receive_all,
    started,
)
from tests.support.waiting import TIMEOUT_S, wait_until

GET = b"GET /api/users/1000001 HTTP/1.1\r\nHost: x\r\n"
CLOSE = b"Connection: close\r\n"
UNFINISHED = b"POST /upper HTTP/1.1\r\nHost: x\r\nContent-Le"
BODY_BYTES_MAX = 4 * 1024 * 1024
STREAM = "ledger.stream_transactions"

on_rest = pytest.mark.parametrize("kind", [GTHREAD, UVICORN, NET_HTTP], ids=str)


def watch(connection: socket.socket, timeout_s: float = TIMEOUT_S) -> str:
    """Return what a connection gets next: the status of a reply, `closed`, or `open` if nothing comes in time."""
    connection.settimeout(timeout_s)
    try:
        received = connection.recv(65_536)
    except TimeoutError:
        return "open"
    return received.split()[1].decode() if received else "closed"


@on_rest
def test_slow_clients_hold_threads(kind: Kind, tmp_path: Path) -> None:
    """As many unfinished requests as gunicorn has threads keep all others waiting; the other servers have no threads.

    A stop waits for them until the drain timeout.
    """
    flags = ("--drain-timeout-s", 1, *(("--threads", 2) if kind == GTHREAD else ()))
    with started(kind, tmp_path, *flags) as service, contextlib.ExitStack() as stack:
        *slow, last = (stack.enter_context(socket.create_connection(service.address, TIMEOUT_S)) for _ in range(3))
        for each in slow:
            each.sendall(UNFINISHED)
        last.sendall(GET + b"\r\n")

        assert watch(last, 1) == "open" if kind == GTHREAD else watch(last) == "200"
        assert 0 == service.stop()


@pytest.mark.parametrize("kind", [GTHREAD, UVICORN], ids=str)
def test_oversized_bodies(kind: Kind, tmp_path: Path) -> None:
    """They are rejected as soon as their length is known: by Flask in the envelope, by Starlette in text."""
    head = b"POST /upper HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"Content-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1)
    with started(kind, tmp_path) as service:
        status, _, body = exchange(service.address, head, half_close=False).partition(b"\r\n\r\n")

    assert status.startswith(b"HTTP/1.1 413 ")
    assert b"Content Too Large" == body if kind == UVICORN else not json.loads(body)["success"]


@on_rest
def test_idle_connections(kind: Kind, tmp_path: Path) -> None:
    """They serve one request after another, and are closed once they have been idle for the timeout."""
    with (
        started(kind, tmp_path, "--idle-timeout-s", 1) as service,
        socket.create_connection(service.address, TIMEOUT_S) as connection,
    ):
        for _ in range(3):
            connection.sendall(GET + b"\r\n")
            received = b""
            while not received.endswith(b"}"):  # gunicorn sends head and body apart
                received += connection.recv(65_536)
            assert received.startswith(b"HTTP/1.1 200 ")

        assert b"" == receive_all(connection)


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\nHost", b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"]
)
def test_the_read_timeout_of_net_http(sent: bytes, tmp_path: Path) -> None:
    """After it, a request that has begun gets 400, and the connection is closed."""
    with started(NET_HTTP, tmp_path, "--read-timeout-s", 0.5) as service:
        assert exchange(service.address, sent, half_close=False).startswith(b"HTTP/1.1 400 ")


def connect(service: Service) -> grpc.Channel:
    """Return a channel with a connection of its own."""
    return grpc.insecure_channel(str(service.address), [("grpc.use_local_subchannel_pool", 1)])


@pytest.mark.parametrize("kind", [GTHREAD, GRPC_SYNC], ids=str)
def test_health_needs_no_thread_of_the_application(kind: Kind, tmp_path: Path) -> None:
    """A service whose threads are all busy is alive, ready and healthy."""
    with started(kind, tmp_path, "--threads", 1) as service, service.connect() as client:
        items = client.stream(STREAM, {"rate_limit": 1})
        next(items)

        assert [(200, "ok\n")] * 2 == [service.admin("/livez"), service.admin("/readyz")]
        if kind == GRPC_SYNC:
            with connect(service) as channel:
                stub: Any = health_pb2_grpc.HealthStub(channel)
                assert 1 == stub.Check(health_pb2.HealthCheckRequest(), timeout=TIMEOUT_S).status


@pytest.mark.parametrize("kind", [GTHREAD, UVICORN, GRPC_SYNC, GRPC_AIO], ids=str)
def test_open_streams_at_a_stop(kind: Kind, tmp_path: Path) -> None:
    """They continue until the drain timeout, and then break off without an end; the service ends with 0."""
    with started(kind, tmp_path, "--drain-timeout-s", 1) as service, service.connect() as client:
        items = client.stream(STREAM, {"rate_limit": 20})
        next(items)
        service.process.terminate()
        wait_until(lambda: "stopping" in service.logged(), "the service begins to stop")
        next(items)

        with pytest.raises(ClientError):
            list(items)
        assert 0 == service.process.wait(TIMEOUT_S)
        assert "killed" not in service.logged()


@pytest.mark.parametrize("kind", [NET_HTTP, GRPC_GO], ids=str)
def test_streams_of_go_end_when_the_service_stops(kind: Kind, tmp_path: Path) -> None:
    """At once with the reason, which is the application's doing."""
    with started(kind, tmp_path, "--drain-timeout-s", 600) as service, service.connect() as client:
        items = client.stream(STREAM, {"rate_limit": 100})
        next(items)
        service.process.terminate()
        words = ""
        try:
            *_, ended = items
            words = ended.message
        except ClientError as error:  # gRPC's own status of a connection that failed can't be told from this one
            words = error.message
        assert words.endswith("The service is stopping.")
        client.close()
        assert 0 == service.process.wait(TIMEOUT_S)
