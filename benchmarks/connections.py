"""Many connections at once: every asynchronous runtime serves them all, each several times, without an error."""

from __future__ import annotations

import contextlib
import resource
import selectors
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

from benchmarks import http2
from benchmarks.socket_load import REQUEST
from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import Transport
from wirebench.targets import LocalTarget, divide_cores

CONNECTIONS = 4096
ROUNDS = 3
RUNTIMES: tuple[tuple[Transport, str], ...] = (("rest", "uvicorn"), ("grpc", "aio"), ("socket", "asyncio"))
_TIMEOUT_S = 30.0
_READ_BYTES = 65_536
_SEEDED_ID = 1_000_001
#: Of the user that is asked for, in every encoding of the reply.
_NAME = b"User 1000001"
#: Beside those of the connections: files that a process has open anyhow.
_FILES = 100


class _Dialogue(Protocol):
    """What one connection says, and how it knows that its reply is whole."""

    def ask(self, number: int) -> bytes:
        """Return request number 0, 1, ….."""

    def has_reply(self, data: bytes) -> bool:
        """Take what came, and return whether the reply is whole. Raises ConnectionError if it isn't the right one."""


class _Rest:
    def __init__(self) -> None:
        self._received = b""

    def ask(self, _number: int) -> bytes:
        self._received = b""
        return b"GET /api/users/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % _SEEDED_ID

    def has_reply(self, data: bytes) -> bool:
        self._received += data
        _check(self._received, b"HTTP/1.1 200 ")
        return self._received.endswith(b'"User retrieved successfully"}') and _NAME in self._received


class _Socket:
    def __init__(self) -> None:
        self._received = b""

    def ask(self, number: int) -> bytes:
        self._received = b""
        return REQUEST if number else b"WB1J" + REQUEST

    def has_reply(self, data: bytes) -> bool:
        self._received += data
        length = int.from_bytes(self._received[:4], "big")
        if len(self._received) < 4 + length:
            return False
        _check(self._received[4:], struct.pack(">IB", 1, 0))
        return _NAME in self._received


class _Grpc:
    def __init__(self) -> None:
        self._reader = http2.Reader()
        self._has_data = False

    def ask(self, number: int) -> bytes:
        self._has_data = False
        message = b"\x08" + _varint(_SEEDED_ID)
        request = http2.call(2 * number + 1, "/wirebench.v1.UserService/GetUser", message)
        opening = b"" if number else http2.OPENING
        due, self._reader.due = self._reader.due, b""
        return opening + due + request

    def has_reply(self, data: bytes) -> bool:
        ended = False
        for frame in self._reader.frames(data):
            self._has_data = self._has_data or (frame.kind == http2.DATA and _NAME in frame.payload)
            if frame.kind == http2.HEADERS and frame.flags & http2.END_STREAM:
                if not self._has_data:
                    raise ConnectionError(f"a call ended without its user: {frame.payload!r}")
                ended = True
        return ended


_DIALOGUES: dict[Transport, type[_Dialogue]] = {"rest": _Rest, "grpc": _Grpc, "socket": _Socket}


def main() -> bool:
    """Try all runtimes; return whether none made an error."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + _FILES
    if most < wanted:
        print(
            f"only {most} files may be open: raise the limit to {wanted} (ulimit -n) to have {CONNECTIONS} connections"
        )
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, wanted), most))
    verdicts = [_serves(transport, runtime) for transport, runtime in RUNTIMES]
    return all(verdicts)


def _serves(transport: Transport, runtime: str) -> bool:
    with tempfile.TemporaryDirectory() as folder_name:
        target = LocalTarget(divide_cores(), lambda name: Path(folder_name) / f"{name}.log")
        try:
            (service,) = target.start([ServiceSpec(transport, runtime, 1, None, "memory")]).values()
            host, _, port = service.address.rpartition(":")
            before_s = time.monotonic()
            error = _converse(transport, (host, int(port)))
            taken_s = time.monotonic() - before_s
        finally:
            target.stop()
    verdict = f"FAILED: {error}" if error else "ok"
    print(
        f"{transport} {runtime}: {CONNECTIONS:,} connections, {ROUNDS} requests on each, {taken_s:.1f} s: {verdict}",
        flush=True,
    )
    return not error


def _converse(transport: Transport, address: tuple[str, int]) -> str:
    """Open all connections, then let all ask at once, several times; return what went wrong."""
    try:
        with contextlib.ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            for _ in range(CONNECTIONS):
                connection = stack.enter_context(socket.create_connection(address, _TIMEOUT_S))
                selector.register(connection, selectors.EVENT_READ, _DIALOGUES[transport]())
            for number in range(ROUNDS):
                for key in selector.get_map().values():
                    cast(socket.socket, key.fileobj).sendall(key.data.ask(number))
                for _ in _replies(selector):
                    pass
    except OSError as error:
        return str(error) or type(error).__name__
    return ""


def _replies(selector: selectors.BaseSelector) -> Iterator[None]:
    """Yield once for each connection's reply. Raises OSError."""
    waiting = len(selector.get_map())
    while waiting:
        ready = selector.select(_TIMEOUT_S)
        if not ready:
            raise TimeoutError(f"{waiting} connections had no reply after {_TIMEOUT_S:g} s")
        for key, _ in ready:
            data = cast(socket.socket, key.fileobj).recv(_READ_BYTES)
            if not data:
                raise ConnectionError("the server closed a connection")
            if key.data.has_reply(data):
                waiting -= 1
                yield


def _check(received: bytes, expected: bytes) -> None:
    if not received.startswith(expected[: len(received)]):
        raise ConnectionError(f"a reply began with {received[:60]!r}")


def _varint(number: int) -> bytes:
    pieces = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits a byte
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*pieces, number))
