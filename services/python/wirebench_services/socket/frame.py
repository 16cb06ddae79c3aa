"""Frames: the byte layout of requests and replies (proto/socket.md)."""

from __future__ import annotations

from typing import NamedTuple

from wirebench_services.application.errors import OperationError
from wirebench_services.contract import LENGTH_BYTES, REPLY, REQUEST, STATUSES

PREFACE_BYTES = 4
LINE_BYTES_MAX = 64 * 1024

_ID_END = 8


class Request(NamedTuple):
    """A request; `size` is its length in bytes, with its header."""

    size: int
    id: int
    method: str
    body: bytes


class FrameError(OperationError):
    """A frame or line after which the connection is closed."""

    def __init__(self, request_id: int, code: str, message: str) -> None:
        super().__init__(message, code)
        self.request_id = request_id


def parse_request(data: bytes | bytearray, payload_bytes_max: int) -> Request | None:
    """Return the request frame at the start of the data, or None if it isn't complete. Raises FrameError."""
    # What hasn't arrived yet reads as zeros.
    length, request_id, method_bytes = REQUEST.unpack(data[: REQUEST.size].ljust(REQUEST.size, b"\0"))
    end = LENGTH_BYTES + length
    if length > payload_bytes_max and len(data) >= _ID_END:
        raise FrameError(request_id, "resource_exhausted", f"The request is larger than {payload_bytes_max} bytes.")
    if len(data) < end:
        return None
    body_start = REQUEST.size + method_bytes
    if body_start > end:
        request_id = request_id if end >= _ID_END else 0
        raise FrameError(request_id, "invalid_argument", "The frame is shorter than its fields.")
    method = data[REQUEST.size : body_start].decode("ascii", "backslashreplace")
    return Request(end, request_id, method, bytes(data[body_start:end]))


def parse_line(data: bytes | bytearray, *, has_ended: bool) -> Request | None:
    """Return the line at the start of the data, or None if it isn't complete. Raises FrameError."""
    size = data.find(b"\n") + 1
    if not size and len(data) <= LINE_BYTES_MAX + 1 and not (has_ended and data):
        return None
    line = bytes(data[: size or len(data)])
    body = line.removesuffix(b"\n").removesuffix(b"\r")
    if len(body) > LINE_BYTES_MAX:
        raise FrameError(0, "invalid_argument", f"The line is longer than {LINE_BYTES_MAX} bytes.")
    try:
        body.decode()
    except UnicodeDecodeError:
        raise FrameError(0, "invalid_argument", "The line is not valid UTF-8.") from None
    return Request(len(line), 0, "echo.upper", body)


def build_reply(request_id: int, code: str, message: str, body: bytes) -> bytes:
    text = message.encode()
    length = REPLY.size - LENGTH_BYTES + len(text) + len(body)
    return REPLY.pack(length, request_id, STATUSES[code], len(text)) + text + body
