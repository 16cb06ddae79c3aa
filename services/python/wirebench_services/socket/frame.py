"""Frames of the socket protocol: how requests and replies lie in the stream of bytes (proto/socket.md)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from wirebench_services.application.errors import InvalidArgument, OperationError

#: The encoding of bodies, by what a client opens with.
PREFACES = {b"WB1J": "json", b"WB1P": "protobuf"}
PREFACE_BYTES = 4

#: The status of a reply, by the code of its outcome: the numbers of gRPC.
STATUSES = {
    "ok": 0,
    "cancelled": 1,
    "invalid_argument": 3,
    "not_found": 5,
    "already_exists": 6,
    "resource_exhausted": 8,
    "unimplemented": 12,
    "internal": 13,
    "unavailable": 14,
}
_MORE = 1

_LENGTH = slice(0, 4)
_ID = slice(4, 8)
_METHOD_START = 9  # behind length, id and the length of the method
_REPLY = struct.Struct(">IIBBH")  # length, id, status, flags, message_length
_REPLY_FIXED_BYTES = _REPLY.size - _LENGTH.stop


class Request(NamedTuple):
    """A request frame, and how many bytes it takes."""

    size: int
    id: int
    method: bytes
    body: bytes


class ResourceExhausted(OperationError):
    """The client asks for more than a connection may have."""

    code = "resource_exhausted"


class FrameError(Exception):
    """A frame after which the connection is closed, and the error that its reply names."""

    def __init__(self, request_id: int, error: OperationError) -> None:
        super().__init__(error.message)
        self.request_id = request_id
        self.error = error


def parse_request(data: bytes | bytearray, payload_bytes_max: int) -> Request | None:
    """Return the request frame at the start of the data, or None if it isn't complete. Raises FrameError."""
    if len(data) < _LENGTH.stop:
        return None
    length = int.from_bytes(data[_LENGTH])
    end = _LENGTH.stop + length
    if length > payload_bytes_max:
        if len(data) < _ID.stop:
            return None  # the reply needs the id
        message = f"The request is larger than {payload_bytes_max} bytes."
        raise FrameError(int.from_bytes(data[_ID]), ResourceExhausted(message))
    if len(data) < end:
        return None
    body_start = _METHOD_START + data[_ID.stop] if end > _ID.stop else _METHOD_START
    if body_start > end:
        request_id = int.from_bytes(data[_ID]) if end >= _ID.stop else 0
        raise FrameError(request_id, InvalidArgument("The frame is shorter than its fields."))
    return Request(end, int.from_bytes(data[_ID]), bytes(data[_METHOD_START:body_start]), bytes(data[body_start:end]))


def build_reply(request_id: int, code: str, message: str, body: bytes) -> bytes:
    """Return the only reply frame of a request, or the end mark of a stream."""
    text = message.encode()
    length = _REPLY_FIXED_BYTES + len(text) + len(body)
    return _REPLY.pack(length, request_id, STATUSES[code], 0, len(text)) + text + body


def build_item(request_id: int, body: bytes) -> bytes:
    """Return the reply frame of a stream's next item."""
    return _REPLY.pack(_REPLY_FIXED_BYTES + len(body), request_id, STATUSES["ok"], _MORE, 0) + body
