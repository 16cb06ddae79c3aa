"""The gRPC client: grpcio, one channel, one connection."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import grpc

from wirebench.drivers.clients.client import Client, ClientError, Fields, ItemStream, Reply
from wirebench.drivers.clients.messages import OperationMessages, find_operation
from wirebench.drivers.clients.peer import Peer
from wirebench.model.address import Address
from wirebench.system.tls import ClientTls, open_grpc_channel

_OPTIONS = [
    ("grpc.enable_http_proxy", 0),
    # A connection of our own: channels to one address would share one otherwise.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
]

#: What opens every HTTP/2 connection: a fixed text, and a SETTINGS frame (here an empty one). RFC 9113, 3.4
_HTTP2_OPENING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_FRAME_HEADER_BYTES = 9
_SETTINGS = 4

#: Statuses that grpc makes up itself when there is no answer of the service.
_NO_ANSWER = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.CANCELLED}


class GrpcClient(Client):
    """Speaks gRPC. `channel` takes calls of any method, whatever their bytes."""

    transport = "grpc"

    def __init__(self, address: Address, timeout_s: float = 5.0, tls: ClientTls | None = None) -> None:
        self._peer = Peer(address, timeout_s, tls, "h2")
        _probe(self._peer)
        self.channel = open_grpc_channel(str(address), tls, _OPTIONS)

    def call(self, operation: str, fields: Fields) -> Reply:
        found = find_operation(operation)
        request = found.encode(fields)
        try:
            # Without serializers a method takes and gives bytes.
            method: Callable[..., bytes] = self.channel.unary_unary(f"/{found.grpc['call']}")
            response = method(request, timeout=self._peer.timeout_s)
        except grpc.RpcError as error:
            return self._parse_error(error)
        return Reply("ok", *self._decode(found, response))

    def stream(self, operation: str, fields: Fields) -> ItemStream:
        found = find_operation(operation, stream=True)
        return ItemStream(self._read_items(found, found.encode(fields)))

    def _read_items(self, found: OperationMessages, request: bytes) -> Generator[object, None, Reply]:
        method: Callable[..., Any] = self.channel.unary_stream(f"/{found.grpc['call']}")
        call = method(request)
        idle_timeout = _IdleTimeout(call, self._peer.timeout_s)
        try:
            for response in call:
                idle_timeout.pause()
                yield self._decode(found, response)[1]
                idle_timeout.start()
        except grpc.RpcError as error:
            if idle_timeout.is_over:
                raise self._peer.explain_failure(TimeoutError()) from None
            return self._parse_error(error)
        finally:
            call.cancel()  # unless it is over
        return Reply("ok", "")

    def close(self) -> None:
        self.channel.close()

    def _decode(self, found: OperationMessages, response: bytes) -> tuple[str, object]:
        try:
            return found.decode(response)
        except ValueError:
            raise self._peer.explain_wrong_protocol("wirebench's gRPC contract", response) from None

    def _parse_error(self, error: grpc.RpcError) -> Reply:
        status, details = error.code(), error.details() or ""
        if status is grpc.StatusCode.DEADLINE_EXCEEDED:
            raise self._peer.explain_failure(TimeoutError()) from None
        if status in _NO_ANSWER:
            raise ClientError(
                f"{self._peer.address} gave no reply: {' '.join(details.split())}", "see whether the service still runs"
            ) from None
        return Reply(status.name.lower(), details)


class _IdleTimeout:
    """Cancels a call that gives nothing for too long: gRPC itself knows deadlines only for calls as a whole."""

    def __init__(self, call: Any, timeout_s: float) -> None:  # noqa: ANN401 - grpc's own type has no name
        self.is_over = False
        self._call = call
        self._timeout_s = timeout_s
        self._done = threading.Event()
        self.start()
        call.add_done_callback(lambda _: self._done.set())
        threading.Thread(target=self._watch, name="idle_timeout", daemon=True).start()

    def start(self) -> None:
        self._ends_s = time.monotonic() + self._timeout_s

    def pause(self) -> None:
        """Note that something came, and that no call waits for more yet."""
        self._ends_s = math.inf

    def _watch(self) -> None:
        while not self._done.wait(self._timeout_s / 4):
            if time.monotonic() > self._ends_s:
                self.is_over = True
                self._call.cancel()
                return


def _probe(peer: Peer) -> None:
    """Find out what listens: grpc itself would only say that it is unavailable. Raises ClientError."""
    with peer.dial() as connection:
        try:
            connection.sendall(_HTTP2_OPENING)
            received = connection.recv(_FRAME_HEADER_BYTES)
        except OSError as error:
            raise peer.explain_failure(error) from error
    if not received:
        raise peer.explain_hang_up()
    if len(received) < _FRAME_HEADER_BYTES or received[3] != _SETTINGS:
        raise peer.explain_wrong_protocol("gRPC", received)
