"""Reads streams of transactions as fast as a server sends them: it looks for their ends only.

python -m benchmarks.stream_load TRANSPORT HOST PORT STREAMS    each on a connection of its own, whole, once
"""

from __future__ import annotations

import selectors
import socket
import struct
import sys
from typing import Protocol, cast

from benchmarks import http2

_READ_BYTES = 256 * 1024
_TIMEOUT_S = 60.0
_PATH = "/wirebench.v1.LedgerService/StreamTransactions"
_METHOD = b"ledger.stream_transactions"
_PAYLOAD = struct.pack(">IB", 1, len(_METHOD)) + _METHOD

REQUESTS = {
    "rest": b"GET /transactions/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "grpc": http2.OPENING + http2.call(1, _PATH, b""),
    "socket": b"WB1J" + struct.pack(">I", len(_PAYLOAD)) + _PAYLOAD,
}


class _Progress(Protocol):
    """Where a stream is."""

    def has_ended(self, data: bytes, connection: socket.socket) -> bool:
        """Take what came, and return whether it was the last of it."""


class _Tail:
    """Knows the end of a stream by its last bytes."""

    def __init__(self, end: bytes) -> None:
        self._end = end
        self._last = b""

    def has_ended(self, data: bytes, _connection: socket.socket) -> bool:
        self._last = (self._last + data[-len(self._end) :])[-len(self._end) :]
        return self._last == self._end


class _Call:
    """Knows the end of a call by its trailers."""

    def __init__(self) -> None:
        self._reader = http2.Reader()

    def has_ended(self, data: bytes, connection: socket.socket) -> bool:
        ended = False
        for each in self._reader.frames(data):
            ended = ended or (each.kind == http2.HEADERS and bool(each.flags & http2.END_STREAM))
        if self._reader.due:
            connection.sendall(self._reader.due)
            self._reader.due = b""
        return ended


def _progress(transport: str) -> _Progress:
    if transport == "rest":
        return _Tail(b"event: end\ndata: {}\n\n\r\n0\r\n\r\n")
    if transport == "socket":
        return _Tail(struct.pack(">IIBBH", 8, 1, 0, 0, 0))
    return _Call()


def load(transport: str, host: str, port: int, streams: int) -> None:
    """Read streams side by side, each to its end. Raises OSError."""
    with selectors.DefaultSelector() as selector:
        for _ in range(streams):
            connection = socket.create_connection((host, port), _TIMEOUT_S)
            connection.sendall(REQUESTS[transport])
            selector.register(connection, selectors.EVENT_READ, _progress(transport))
        while selector.get_map():
            ready = selector.select(_TIMEOUT_S)
            if not ready:
                raise TimeoutError(f"nothing came for {_TIMEOUT_S:g} s")
            for key, _ in ready:
                connection = cast(socket.socket, key.fileobj)
                data = connection.recv(_READ_BYTES)
                if not data:
                    raise ConnectionError("the server closed in the middle of a stream")
                if key.data.has_ended(data, connection):
                    selector.unregister(connection)
                    connection.close()


if __name__ == "__main__":
    transport, host, port, streams = sys.argv[1:]
    load(transport, host, int(port), int(streams))
