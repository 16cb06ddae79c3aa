"""As much of HTTP/2 (RFC 9113) as a gRPC client in good standing has to speak, without gRPC's cost a message."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8
ACK = END_STREAM = 1
_END_HEADERS = 4
_INITIAL_WINDOW_SIZE = 4
_DEFAULT_WINDOW_BYTES, _WINDOW_BYTES_MAX = 65_535, 2**31 - 1
_HEADER_BYTES = 9


class Frame(NamedTuple):
    """What a frame says, but for the stream that it belongs to."""

    kind: int
    flags: int
    payload: bytes


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a frame's bytes."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


#: What a connection opens with: windows so large that flow control is TCP's alone.
OPENING = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + frame(SETTINGS, 0, 0, struct.pack(">HI", _INITIAL_WINDOW_SIZE, _WINDOW_BYTES_MAX))
    + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", _WINDOW_BYTES_MAX - _DEFAULT_WINDOW_BYTES))
)


def call(stream: int, path: str, message: bytes) -> bytes:
    """Return a unary request of gRPC; streams have odd numbers, from 1 on."""
    fields = {
        ":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost",
        "te": "trailers", "content-type": "application/grpc",
    }  # fmt: skip
    # Literal fields, without indexing or Huffman code (RFC 7541, 6.2.2).
    head = b"".join(
        b"\x00" + b"".join(bytes((len(text),)) + text.encode("ascii") for text in field) for field in fields.items()
    )
    body = struct.pack(">BI", 0, len(message)) + message
    return frame(HEADERS, _END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, body)


class Reader:
    """Cuts what comes into frames; `due` is what has to be sent back for them."""

    def __init__(self) -> None:
        self.due = b""
        self._rest = b""

    def frames(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are whole. Raises ConnectionError if the server says that it goes away."""
        data = self._rest + data
        offset = 0
        while len(data) - offset >= _HEADER_BYTES:
            end = offset + _HEADER_BYTES + int.from_bytes(data[offset : offset + 3], "big")
            if len(data) < end:
                break
            found = Frame(data[offset + 3], data[offset + 4], data[offset + _HEADER_BYTES : end])
            offset = end
            if found.kind == GOAWAY:
                raise ConnectionError(f"the server goes away: {found.payload!r}")
            if found.kind in (SETTINGS, PING) and not found.flags & ACK:
                self.due += frame(found.kind, ACK, 0, found.payload if found.kind == PING else b"")
            yield found
        self._rest = data[offset:]
