"""The gRPC client: grpcio, one channel, one connection."""

from __future__ import annotations

from collections.abc import Callable

import grpc

from wirebench.clients.address import Address, dial, failure, hang_up, not_spoken
from wirebench.clients.client import Client, ClientError, Fields, Reply
from wirebench.clients.messages import decode_message, encode_message, find_operation

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
    """Speaks gRPC without TLS. `channel` takes calls of any method, whatever their bytes."""

    transport = "grpc"

    def __init__(self, address: Address, timeout_s: float = 5.0) -> None:
        """Connect. Raises ClientError."""
        self._address = address
        self._timeout_s = timeout_s
        _probe(address, timeout_s)
        self.channel = grpc.insecure_channel(str(address), options=_OPTIONS)

    def call(self, operation: str, fields: Fields) -> Reply:
        """Carry out an operation. Raises ClientError."""
        found = find_operation(operation)
        request = encode_message(found, fields)
        try:
            # Without serializers a method takes and gives bytes.
            method: Callable[..., bytes] = self.channel.unary_unary(found.method)
            response = method(request, timeout=self._timeout_s)
        except grpc.RpcError as error:
            return self._refusal(error)
        try:
            message, data = decode_message(found, response)
        except ValueError:
            raise not_spoken(self._address, "wirebench's gRPC contract", response) from None
        return Reply("ok", message, data)

    def close(self) -> None:
        """Close the channel."""
        self.channel.close()

    def _refusal(self, error: grpc.RpcError) -> Reply:
        status, details = error.code(), error.details() or ""
        if status is grpc.StatusCode.DEADLINE_EXCEEDED:
            raise failure(TimeoutError(), self._address, self._timeout_s) from None
        if status in _NO_ANSWER:
            raise ClientError(
                f"{self._address} gave no reply: {' '.join(details.split())}", "see whether the service still runs"
            ) from None
        return Reply(status.name.lower(), details)


def _probe(address: Address, timeout_s: float) -> None:
    """Find out what listens: grpc itself would only say that it is unavailable. Raises ClientError."""
    with dial(address, timeout_s) as connection:
        try:
            connection.sendall(_HTTP2_OPENING)
            received = connection.recv(_FRAME_HEADER_BYTES)
        except OSError as error:
            raise failure(error, address, timeout_s) from error
    if not received:
        raise hang_up(address)
    if len(received) < _FRAME_HEADER_BYTES or received[3] != _SETTINGS:
        raise not_spoken(address, "gRPC", received)
