"""What servers need below the frameworks: replies to requests that are none, and the limit on a request's head."""

from __future__ import annotations

from http import HTTPStatus

from services.operations import JsonEnvelopeCodec
from services.platform.settings import Settings
from services.rest.api import FAILURE, MALFORMED
from services.rest.negotiation import JSON

#: Of a request's first line and headers, with the empty line that ends them.
HEAD_BYTES_MAX = 64 * 1024

_encode_failure = JsonEnvelopeCodec().encode_failure


def too_slow(settings: Settings) -> bytes:
    """Return the reply to a client that takes too long to send its request."""
    message = f"The request took longer than {settings.read_timeout_s:g} s to arrive."
    return _last_reply(HTTPStatus.REQUEST_TIMEOUT, _encode_failure(message))


def malformed() -> bytes:
    """Return the reply to what is no HTTP request."""
    return _last_reply(HTTPStatus.BAD_REQUEST, _encode_failure(MALFORMED))


def head_too_long() -> bytes:
    """Return the reply to a request whose first line and headers are over the limit."""
    message = f"The request's head is longer than {HEAD_BYTES_MAX} bytes."
    return _last_reply(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _encode_failure(message))


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
