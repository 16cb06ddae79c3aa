"""Connects the load generators that share a load, so that they start at the same time."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Iterator

from wirebench.errors import WirebenchError
from wirebench.measure.observe import StartBarrier

PORT = 7000
_READY_TIMEOUT_S = 120.0
#: How long the others may run on when the first has ended: they wait for replies that don't arrive.
_END_TIMEOUT_S = 120.0
_RETRY_PAUSE_S = 0.2
_LINE_BYTES_MAX = 32


@contextlib.contextmanager
def join_start_barrier(index: int, count: int, first: str, port: int = PORT) -> Iterator[StartBarrier]:
    """Yield the barrier of generator `index` of `count`; `first` is the host of number 0.

    The first one listens. The others connect, tell it when they are ready, wait for its start line, and at the end
    send it the number of their requests. Raises WirebenchError if one of them doesn't connect, or ends too early.
    """
    if count == 1:
        yield StartBarrier()
    elif index == 0:
        with contextlib.ExitStack() as opened:
            server = opened.enter_context(socket.create_server(("", port), backlog=count))
            server.settimeout(_READY_TIMEOUT_S)
            try:
                others = [opened.enter_context(server.accept()[0]) for _ in range(count - 1)]
            except TimeoutError:
                message = f"not all of the {count} load pods were there after {_READY_TIMEOUT_S:.0f} s"
                raise WirebenchError(message, "check why one of them doesn't start") from None
            for each in others:
                each.settimeout(_END_TIMEOUT_S)

            def start() -> None:
                for each in others:
                    _expect(each, "ready")
                for each in others:
                    each.sendall(b"go\n")

            yield StartBarrier(start, lambda sent: sent + sum(int(_expect(each, r"\d+")) for each in others))
    else:
        with _connect(first, port) as connection:

            def wait() -> None:
                connection.sendall(b"ready\n")
                _expect(connection, "go")

            def send(sent: int) -> int:
                connection.sendall(b"%d\n" % sent)
                return sent

            yield StartBarrier(wait, send)


def _connect(host: str, port: int) -> socket.socket:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=5)
        except OSError as error:
            if time.monotonic() > deadline:
                message = f"can't reach the first load pod at {host}:{port}: {error}"
                raise WirebenchError(message, "see its log") from None
            time.sleep(_RETRY_PAUSE_S)
        else:
            connection.settimeout(_READY_TIMEOUT_S)
            return connection


def _expect(connection: socket.socket, pattern: str) -> str:
    """Read a line of this form. Raises WirebenchError if the other pod has ended, or doesn't answer."""
    try:
        with connection.makefile("r") as stream:
            line = stream.readline(_LINE_BYTES_MAX).strip()
    except OSError as error:
        raise WirebenchError(f"another load pod doesn't answer: {error}", "see its log") from error
    if not re.fullmatch(pattern, line):
        raise WirebenchError("another load pod has ended before its load", "see its log")
    return line
