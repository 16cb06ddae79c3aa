"""Free ports on loopback."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

LOOPBACK = "127.0.0.1"


@contextlib.contextmanager
def reserve_ports(count: int) -> Iterator[list[int]]:
    """Yield ports that are free, distinct because all are held until the end."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        yield [each.getsockname()[1] for each in sockets]
