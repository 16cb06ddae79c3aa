"""The one HTTP client: as drivers do, it knows no proxies, and follows no redirects."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

from wirebench.system.tls import ClientTls, make_context

_BYTES_MAX = 16 * 2**20


class Reply(NamedTuple):
    """An HTTP status, and what came with it."""

    status: int
    body: bytes


def fetch(
    url: str, body: bytes | None = None, *, method: str = "", timeout_s: float = 10.0, tls: ClientTls | None = None
) -> Reply:
    """Send a request, with JSON if there is a body, and return the reply, whatever its status.

    Raises OSError if there is no whole reply in this time: what comes byte by byte doesn't prolong it.
    """
    scheme, address, path, query, _ = urlsplit(url)
    connection = HTTPConnection(address, timeout=timeout_s)
    if scheme == "https":
        connection = HTTPSConnection(address, timeout=timeout_s, context=make_context(tls or ClientTls()))
    target = f"{path or '/'}?{query}" if query else path or "/"
    try:
        connection.connect()
        with _end_after(timeout_s, connection.sock):
            headers = {"Content-Type": "application/json"}
            connection.request(method or ("POST" if body else "GET"), target, body, headers)
            reply = connection.getresponse()
            return Reply(reply.status, reply.read(_BYTES_MAX))
    except HTTPException as error:
        raise OSError(f"the reply broke off: {error}") from error
    finally:
        connection.close()


@contextlib.contextmanager
def _end_after(timeout_s: float, connected: socket.socket) -> Iterator[None]:
    """Shut a connection down after this time, and raise TimeoutError then: what was read may have been cut off."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        with contextlib.suppress(OSError):  # it may be closed by now
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

    deadline = threading.Timer(timeout_s, end)
    deadline.start()
    try:
        yield
    except TimeoutError:  # the socket's own, of as many seconds
        is_late.set()
    except (OSError, HTTPException):  # once shut down, a reset or half a header line
        if not is_late.is_set():
            raise
    finally:
        deadline.cancel()
    if is_late.is_set():
        raise TimeoutError(f"no whole reply within {timeout_s:g} s")
