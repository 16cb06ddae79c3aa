"""How exact the proxy is that stands for a network: what it adds to a round trip, and what it lets through."""

from __future__ import annotations

import socket
import statistics
import struct
import tempfile
import threading
import time
from pathlib import Path

from wirebench.model.cell import Link
from wirebench.system.ports import LOOPBACK
from wirebench.targets.toxiproxy import Toxiproxy, start_toxiproxy

DELAYS_MS = (1, 2, 5, 20, 40, 100)

_SMALL_BYTES = 64
_TIMEOUT_S = 60.0
_CHUNK_BYTES = 256 * 1024
#: How many bytes follow, and how many are to come back.
_HEAD = struct.Struct(">QQ")


def main() -> bool:
    """Print what links do beside what they were asked for; return whether none is better than that."""
    with (
        socket.create_server((LOOPBACK, 0)) as listener,
        tempfile.TemporaryDirectory() as folder,
        start_toxiproxy(Path(folder) / "toxiproxy.log", cores=None) as proxy,
    ):
        upstream = f"{LOOPBACK}:{listener.getsockname()[1]}"
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
        plain_ms = statistics.median(_round_trips_ms(proxy.open_route(upstream), times=2000))
        straight_ms = statistics.median(_round_trips_ms(upstream, times=2000))
        print(f"a round trip of {_SMALL_BYTES} bytes: {straight_ms:.2f} ms, through the proxy {plain_ms:.2f} ms")
        added = [_delay(proxy, upstream, delay_ms, plain_ms) for delay_ms in DELAYS_MS]
        return all(added)


def _delay(proxy: Toxiproxy, upstream: str, delay_ms: int, plain_ms: float) -> bool:
    way = proxy.open_route(upstream, Link(delay_ms=delay_ms))
    added_ms = statistics.median(_round_trips_ms(way, times=max(30, 2000 // delay_ms))) - plain_ms
    print(f"  delay_ms {delay_ms:>7,}: {added_ms:.2f} ms are added")
    return added_ms >= delay_ms


def _round_trips_ms(address: str, times: int) -> list[float]:
    """Return how long round trips on one connection take, without the first."""
    with _connect(address) as connection:
        return [1000 * _exchange_s(connection, _SMALL_BYTES, _SMALL_BYTES) for _ in range(times + 1)][1:]


def _connect(address: str) -> socket.socket:
    host, port = address.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), _TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _exchange_s(connection: socket.socket, sent: int, returned: int) -> float:
    before_s = time.perf_counter()
    connection.sendall(_HEAD.pack(sent, returned) + bytes(sent))
    _read(connection, returned)
    return time.perf_counter() - before_s


def _read(connection: socket.socket, size: int) -> None:
    """Read so many bytes. Raises EOFError if they don't come."""
    left = size
    while left:
        piece = connection.recv(min(left, _CHUNK_BYTES))
        if not piece:
            raise EOFError
        left -= len(piece)


def _accept(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    """Take what one client sends, and send back what it asks for, until it has gone."""
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while head := connection.recv(_HEAD.size, socket.MSG_WAITALL):
            sent, returned = _HEAD.unpack(head)
            _read(connection, sent)
            connection.sendall(bytes(returned))
