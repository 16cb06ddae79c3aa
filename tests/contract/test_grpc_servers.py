"""What stock grpcio and grpc-go do below the operations: slow clients, garbage, long metadata, and SIGTERM."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from wirebench_proto import ledger_pb2, ledger_pb2_grpc, users_pb2

from tests.support.services import GRPC_AIO, GRPC_GO, GRPC_KINDS, GRPC_SYNC, Kind, Service, receive_all, started
from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.drivers.clients import Client

GRPCIO_KINDS = (GRPC_SYNC, GRPC_AIO)
GET_USER = "/wirebench.v1.UserService/GetUser"
REQUEST = users_pb2.GetUserRequest(id=1_000_001).SerializeToString()
#: What opens every HTTP/2 connection: a fixed text, and an empty SETTINGS frame (RFC 9113, 3.4).
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OPENING = PREFACE + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS = 4

shared_service = pytest.mark.parametrize("service", GRPC_KINDS, ids=str, indirect=True)
every_kind = pytest.mark.parametrize("kind", GRPC_KINDS, ids=str)


def connect(service: Service) -> grpc.Channel:
    """Return a channel with a connection of its own."""
    return grpc.insecure_channel(str(service.address), [("grpc.use_local_subchannel_pool", 1)])


def call(channel: grpc.Channel, request: bytes = REQUEST, timeout_s: float = TIMEOUT_S, **headers: str) -> str:
    """Call GetUser with any bytes; return the name of the status and the details."""
    method: Callable[..., bytes] = channel.unary_unary(GET_USER)
    try:
        method(request, timeout=timeout_s, metadata=list(headers.items()))
    except grpc.RpcError as error:
        return f"{error.code().name}: {error.details()}"
    return "OK"


@shared_service
@pytest.mark.parametrize("garbage", [b"\xff\xff", b'{"id": 7}'])
def test_bytes_that_are_no_message(service: Service, client: Client, garbage: bytes) -> None:
    """The status is the framework's own, and another one on each server."""
    with connect(service) as channel:
        status = call(channel, garbage)

    expected = {
        GRPC_SYNC: "INTERNAL: Exception deserializing",
        GRPC_AIO: "UNKNOWN: Unexpected",
        GRPC_GO: "INTERNAL: grpc: error unmarshalling request",
    }[service.kind]
    assert status.startswith(expected), status
    assert client.call("users.get", {"id": 1_000_001}).ok


@shared_service
def test_long_metadata(service: Service) -> None:
    """In grpcio up to 8 KiB are served, over 16 KiB rejected, in between rejected at random; in Go 1 MB is served."""
    size_max = 1_000_000 if service.kind == GRPC_GO else 7000
    with connect(service) as channel:
        assert "OK" == call(channel, x="y" * size_max)
        if service.kind != GRPC_GO:
            status = call(channel, x="y" * 20_000)
            assert status.startswith("RESOURCE_EXHAUSTED: received metadata size exceeds hard limit")
        assert "OK" == call(channel)


@shared_service
@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", bytes(100), PREFACE + b"\xff" * 50])
def test_garbage_is_hung_up_on(service: Service, client: Client, garbage: bytes) -> None:
    """What isn't HTTP/2 gets the server's own SETTINGS frame and a close at once; other clients don't notice."""
    with socket.create_connection(service.address, TIMEOUT_S) as connection:
        connection.sendall(garbage)
        received = receive_all(connection)

    assert _SETTINGS == received[3]
    assert client.call("users.get", {"id": 1_000_001}).ok


@every_kind
def test_clients_that_begin_a_call_and_stall(kind: Kind, tmp_path: Path) -> None:
    """A call without its message holds a thread of the sync server, for ever; the others keep working."""
    left = threading.Event()

    def send_nothing() -> Iterator[bytes]:
        left.wait()
        yield from ()

    with started(kind, tmp_path, "--threads", 2, "--drain-timeout-s", 1) as service, contextlib.ExitStack() as channels:
        stalled: list[Any] = []
        for _ in range(2):
            channel = channels.enter_context(connect(service))
            method: Any = channel.stream_unary(GET_USER)
            stalled.append(method.future(send_nothing()))
        with connect(service) as channel:
            try:
                if kind == GRPC_SYNC:  # What comes before the stalled calls is answered.
                    late = "DEADLINE_EXCEEDED: Deadline Exceeded"
                    wait_until(lambda: late == call(channel, timeout_s=2), "no thread is free")
                else:
                    assert {"OK"} == {call(channel) for _ in range(3)}
            finally:
                for each in stalled:
                    each.cancel()
                left.set()
            assert "OK" == call(channel)


@every_kind
def test_connections_without_a_call(kind: Kind, tmp_path: Path) -> None:
    """Whether silent, in the middle of the preface or idle, they keep no other client waiting.

    A stop closes them by the drain timeout, or in Go by the end of the read timeout.
    """
    read_timeout = ("--read-timeout-s", 4) if kind == GRPC_GO else ()
    with (
        started(kind, tmp_path, "--drain-timeout-s", 1, *read_timeout) as service,
        contextlib.ExitStack() as stack,
        connect(service) as channel,
    ):
        openings = (b"", PREFACE[:8], OPENING)
        connections = [
            stack.enter_context(socket.create_connection(service.address, TIMEOUT_S)) for _ in range(len(openings))
        ]
        for connection, opening in zip(connections, openings, strict=True):
            connection.sendall(opening)
        for connection in connections:
            assert _SETTINGS == connection.recv(1024)[3]
            connection.settimeout(0.5)
            with contextlib.suppress(TimeoutError):
                while True:
                    assert connection.recv(1024), "closed"
        assert "OK" == call(channel)

        assert 0 == service.stop()

        for connection in connections:
            connection.settimeout(TIMEOUT_S)
            receive_all(connection)
        assert "killed" not in service.logged()


@pytest.mark.parametrize("kind", GRPCIO_KINDS, ids=str)
def test_open_streams_at_a_stop(kind: Kind, tmp_path: Path) -> None:
    """A stream continues until the drain timeout; then its client gets UNAVAILABLE, and the service ends with 0."""
    with started(kind, tmp_path, "--drain-timeout-s", 2) as service, connect(service) as channel:
        stub = ledger_pb2_grpc.LedgerServiceStub(channel)
        stream: Any = stub.StreamTransactions(ledger_pb2.StreamTransactionsRequest(rate_limit=5))
        next(stream)

        service.process.terminate()

        with pytest.raises(grpc.RpcError) as caught:
            for _ in stream:
                pass
        assert (grpc.StatusCode.UNAVAILABLE, "Cancelling all calls") == (caught.value.code(), caught.value.details())
        assert 0 == service.process.wait(TIMEOUT_S)
        assert "killed" not in service.logged()
