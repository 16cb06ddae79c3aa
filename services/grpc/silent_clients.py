"""Hangs up on clients that have connected and haven't opened HTTP/2: gRPC, told to stop, would give them their time.

gRPC doesn't hand out its connections: they are found among the files of the process, which is Linux's way. Elsewhere
such clients keep the time that they have, as do those with TLS that have said nothing since their handshake.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from pathlib import Path

#: How often to look while the server stops, in seconds; who is opening a connection at that moment has as long.
CHECK_INTERVAL_S = 0.25
#: The least that a client says first: a fixed text, and the head of a SETTINGS frame (RFC 9113, 3.4 and 4.1).
_OPENING_BYTES = 24 + 9
#: Where `struct tcp_info` of linux/tcp.h has tcpi_bytes_received, a number of eight bytes.
_BYTES_RECEIVED = slice(128, 136)


def hang_up(port: int) -> None:
    """End the connections to our port on which nothing has come that HTTP/2 could begin with."""
    if sys.platform != "linux":
        return
    for entry in Path("/proc/self/fd").iterdir():
        with (
            contextlib.suppress(OSError),  # it may be gone by now, or no socket; what listens is connected to nobody
            _shared(int(entry.name)) as connection,
        ):
            if _is_ours(connection, port) and _received_bytes(connection) < _OPENING_BYTES:
                connection.shutdown(socket.SHUT_RDWR)


def _shared(file: int) -> socket.socket:
    """Return the socket that this file of the process is, to be closed without closing that. Raises OSError."""
    copy = os.dup(file)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _is_ours(connection: socket.socket, port: int) -> bool:
    is_tcp = connection.family in {socket.AF_INET, socket.AF_INET6} and connection.type == socket.SOCK_STREAM
    return is_tcp and connection.getsockname()[1] == port and bool(connection.getpeername())


def _received_bytes(connection: socket.socket) -> int:
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_RECEIVED.stop)
    return int.from_bytes(info[_BYTES_RECEIVED], sys.byteorder) if len(info) == _BYTES_RECEIVED.stop else _OPENING_BYTES
