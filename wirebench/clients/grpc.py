"""The gRPC client: grpcio, one channel, one connection."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import grpc

from wirebench.clients.address import Address
from wirebench.clients.client import Client, ClientError, Fields, Reply
from wirebench.clients.messages import decode_message, encode_message, find_operation
from wirebench.clients.peer import Peer
from wirebench.tls import ClientTls

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
        """Connect. Raises ClientError."""
        self._peer = Peer(address, timeout_s, tls, "h2")
        _probe(self._peer)
        self.channel = (
            grpc.secure_channel(str(address), _credentials(tls), options=_OPTIONS)
            if tls
            else grpc.insecure_channel(str(address), options=_OPTIONS)
        )

    def call(self, operation: str, fields: Fields) -> Reply:
        """Carry out an operation. Raises ClientError."""
        found = find_operation(operation)
        request = encode_message(found, fields)
        try:
            # Without serializers a method takes and gives bytes.
            method: Callable[..., bytes] = self.channel.unary_unary(found.method)
            response = method(request, timeout=self._peer.timeout_s)
        except grpc.RpcError as error:
            return self._refusal(error)
        try:
            message, data = decode_message(found, response)
        except ValueError:
            raise self._peer.not_spoken("wirebench's gRPC contract", response) from None
        return Reply("ok", message, data)

    def close(self) -> None:
        """Close the channel."""
        self.channel.close()

    def _refusal(self, error: grpc.RpcError) -> Reply:
        status, details = error.code(), error.details() or ""
        if status is grpc.StatusCode.DEADLINE_EXCEEDED:
            raise self._peer.failure(TimeoutError()) from None
        if status in _NO_ANSWER:
            raise ClientError(
                f"{self._peer.address} gave no reply: {' '.join(details.split())}", "see whether the service still runs"
            ) from None
        return Reply(status.name.lower(), details)


def _probe(peer: Peer) -> None:
    """Find out what listens: grpc itself would only say that it is unavailable. Raises ClientError."""
    with peer.dial() as connection:
        try:
            connection.sendall(_HTTP2_OPENING)
            received = connection.recv(_FRAME_HEADER_BYTES)
        except OSError as error:
            raise peer.failure(error) from error
    if not received:
        raise peer.hang_up()
    if len(received) < _FRAME_HEADER_BYTES or received[3] != _SETTINGS:
        raise peer.not_spoken("gRPC", received)


def _credentials(tls: ClientTls) -> grpc.ChannelCredentials:
    # Without an authority grpc would take one of the lists that come with it, and not the system's.
    authority = tls.authority or ssl.get_default_verify_paths().cafile
    files = (Path(each).read_bytes() if each else None for each in (authority, tls.key, tls.certificate))
    return grpc.ssl_channel_credentials(*files)
