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
JITTERY = Link(delay_ms=20, jitter_ms=5)
RATES_KIB_S = (16, 64, 256, 1024, 4096, 16_384, 65_536)
#: A link may be so much faster than asked for: toxiproxy counts in whole thousands of bytes a second.
FASTER_MAX = 0.05

_SMALL_BYTES = 64
_TRANSFER_S = 0.5
_TIMEOUT_S = 60.0
_CHUNK_BYTES = 256 * 1024
#: How many bytes follow, and how many are to come back.
_HEAD = struct.Struct(">QQ")


def main() -> bool:
    """Print what links do beside what they were asked for; return whether none is better than that."""
    with (
        socket.create_server((LOOPBACK, 0)) as listener,
        tempfile.TemporaryDirectory() as folder,
        start_toxiproxy(Path(folder) / "toxiproxy.log", cores=None, seed=1) as proxy,
    ):
        upstream = f"{LOOPBACK}:{listener.getsockname()[1]}"
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
        plain_ms = statistics.median(_round_trips_ms(proxy.open_route(upstream), times=2000))
        straight_ms = statistics.median(_round_trips_ms(upstream, times=2000))
        print(f"a round trip of {_SMALL_BYTES} bytes: {straight_ms:.2f} ms, through the proxy {plain_ms:.2f} ms")
        delays = [_delay(proxy, upstream, delay_ms, plain_ms) for delay_ms in DELAYS_MS]
        jittered_ms = [each - plain_ms for each in _round_trips_ms(proxy.open_route(upstream, JITTERY), times=100)]
        print(
            f"  {JITTERY.delay_ms} ms with a jitter of {JITTERY.jitter_ms}: {min(jittered_ms):.1f} to "
            f"{max(jittered_ms):.1f} ms, {statistics.mean(jittered_ms):.1f} on average"
        )
        return all([*delays, *[_bandwidth(proxy, upstream, rate_kib_s) for rate_kib_s in RATES_KIB_S]])


def _delay(proxy: Toxiproxy, upstream: str, delay_ms: int, plain_ms: float) -> bool:
    way = proxy.open_route(upstream, Link(delay_ms=delay_ms))
    added_ms = statistics.median(_round_trips_ms(way, times=max(30, 2000 // delay_ms))) - plain_ms
    print(f"  delay_ms {delay_ms:>7,}: {added_ms:.2f} ms are added")
    return added_ms >= delay_ms


def _bandwidth(proxy: Toxiproxy, upstream: str, rate_kib_s: int) -> bool:
    way = proxy.open_route(upstream, Link(delay_ms=0, bandwidth_kib_s=rate_kib_s))
    size = round(rate_kib_s * 1024 * _TRANSFER_S)
    rates = []
    for sent, returned in ((size, 1), (1, size)):
        with _connect(way) as connection:
            rates.append(size / 1024 / _exchange_s(connection, sent, returned) / rate_kib_s - 1)
    print(f"  bandwidth_kib_s {rate_kib_s:>6,}: {rates[0]:+.1%} there, {rates[1]:+.1%} back")
    return max(rates) <= FASTER_MAX


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
