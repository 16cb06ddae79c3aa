"""Frames: how requests and replies lie in the stream of bytes (proto/socket.md)."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from services.domain.errors import Code

PREFACE_BYTES = 4
JSON_PREFACE = b"WB1J"
PROTOBUF_PREFACE = b"WB1P"

STATUSES = {
    Code.OK: 0,
    Code.CANCELLED: 1,
    Code.INVALID_ARGUMENT: 3,
    Code.DEADLINE_EXCEEDED: 4,
    Code.NOT_FOUND: 5,
    Code.ALREADY_EXISTS: 6,
    Code.RESOURCE_EXHAUSTED: 8,
    Code.UNIMPLEMENTED: 12,
    Code.INTERNAL: 13,
    Code.UNAVAILABLE: 14,
}

#: The method that ends a stream; it has no reply of its own.
CANCEL = b"cancel"

#: Another reply frame of the same request follows.
_MORE = 1

_LENGTH = struct.Struct(">I")
_LENGTH_AND_ID = struct.Struct(">II")
_REQUEST = struct.Struct(">IIB")  # length, id, method_length
_REPLY = struct.Struct(">IIBBH")  # length, id, status, flags, message_length
_ID_BYTES = _LENGTH_AND_ID.size - _LENGTH.size
#: What a payload's length counts beyond method and body, or message and body.
_REQUEST_FIXED_BYTES = _REQUEST.size - _LENGTH.size
_REPLY_FIXED_BYTES = _REPLY.size - _LENGTH.size


#: Where the next frame starts, id, method, body. A bare tuple, because there is one for each request.
Request = tuple[int, int, bytes, bytes]


class FrameError(Exception):
    """A frame after which the stream can't be followed any further."""

    def __init__(self, code: Code, request_id: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id
        self.message = message


def next_request(data: bytes, offset: int, payload_bytes_max: int) -> Request | None:
    """Return the request frame that starts at `offset`, or None if it isn't complete. Raises FrameError."""
    body_offset = offset + _REQUEST.size
    if len(data) < body_offset:
        _check_start(data, offset, payload_bytes_max)
        return None
    length, request_id, method_length = _REQUEST.unpack_from(data, offset)
    if not _REQUEST_FIXED_BYTES + method_length <= length <= payload_bytes_max:
        raise _error(length, request_id, payload_bytes_max)
    end = offset + _LENGTH.size + length
    if len(data) < end:
        return None
    method_end = body_offset + method_length
    return end, request_id, data[body_offset:method_end], data[method_end:end]


def bytes_needed(data: bytes, offset: int) -> int:
    """Return how many bytes from `offset` the incomplete frame there takes; 0 if that can't be told yet."""
    if len(data) - offset < _REQUEST.size:
        return 0
    return _LENGTH.size + int(_LENGTH.unpack_from(data, offset)[0])


def encode_reply(request_id: int, code: Code, message: str, body: bytes) -> bytes:
    """Return a reply frame, which is the only one for its request."""
    words = message.encode()
    length = _REPLY_FIXED_BYTES + len(words) + len(body)
    return b"".join((_REPLY.pack(length, request_id, STATUSES[code], 0, len(words)), words, body))


def encode_items(request_id: int, bodies: Iterable[bytes]) -> bytes:
    """Return the reply frames of a stream's next items."""
    parts: list[bytes] = []
    for body in bodies:
        parts += (_REPLY.pack(_REPLY_FIXED_BYTES + len(body), request_id, STATUSES[Code.OK], _MORE, 0), body)
    return b"".join(parts)


def _check_start(data: bytes, offset: int, payload_bytes_max: int) -> None:
    """Find out whether a frame of which less than its fixed fields is here can become one. Raises FrameError."""
    available = len(data) - offset
    if available < _LENGTH.size:
        return
    (length,) = _LENGTH.unpack_from(data, offset)
    if _REQUEST_FIXED_BYTES <= length <= payload_bytes_max:
        return
    if length < _ID_BYTES:
        raise _error(length, 0, payload_bytes_max)
    if available >= _LENGTH_AND_ID.size:  # the reply needs the id
        raise _error(length, _LENGTH_AND_ID.unpack_from(data, offset)[1], payload_bytes_max)


def _error(length: int, request_id: int, payload_bytes_max: int) -> FrameError:
    if length > payload_bytes_max:
        return FrameError(Code.RESOURCE_EXHAUSTED, request_id, f"The request is larger than {payload_bytes_max} bytes.")
    # What follows a frame too short for an id isn't its id.
    answered_id = request_id if length >= _ID_BYTES else 0
    return FrameError(Code.INVALID_ARGUMENT, answered_id, "The frame is shorter than its fields.")
