"""What servers need below the frameworks: the address, and replies to requests that are none."""

from __future__ import annotations

import socket
from http import HTTPStatus

from services.operations import JsonEnvelopeCodec
from services.platform.settings import Settings
from services.rest.api import FAILURE
from services.rest.negotiation import JSON

_encode_failure = JsonEnvelopeCodec().encode_failure


def resolve(settings: Settings) -> tuple[socket.AddressFamily, str]:
    """Return the family and the numeric address to listen on: the one where the supervisor holds the port."""
    family, _, _, _, address = socket.getaddrinfo(
        settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    return family, str(address[0])


def too_slow(settings: Settings) -> bytes:
    """Return the reply to a client that takes too long to send its request."""
    message = f"The request took longer than {settings.read_timeout_s:g} s to arrive."
    return _last_reply(HTTPStatus.REQUEST_TIMEOUT, _encode_failure(message))


def malformed() -> bytes:
    """Return the reply to what is no HTTP request."""
    return _last_reply(HTTPStatus.BAD_REQUEST, _encode_failure("Malformed HTTP request."))


def failure() -> bytes:
    """Return the reply to a request that failed outside of an operation."""
    return _last_reply(HTTPStatus(FAILURE.status), FAILURE.body)


def _last_reply(status: HTTPStatus, body: bytes) -> bytes:
    """Return a whole HTTP reply that ends its connection; its body is JSON."""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {JSON}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
