"""The HTTP server: listens, serves until it is told to stop, and is gone soon after."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from wirebench.errors import UsageError

#: How long answers that are on their way may take once the server is to stop; those still unfinished are cut off.
GRACE_S = 1
_BACKLOG = 128
#: How long a client may read nothing of an answer.
_WRITE_TIMEOUT_S = 20


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 takes a free one. Raises UsageError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(
            address[:2],
            family=family,
            backlog=_BACKLOG,
            dualstack_ipv6=address[0] == "::" and socket.has_dualstack_ipv6(),
        )
    except (OSError, UnicodeError) as error:
        # Python repeats the address.
        reason = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]
        raise UsageError(
            f"can't listen on {host}, port {port}: {reason[:1].lower()}{reason[1:]}",
            "choose another --port (0 takes a free one), or an address of this machine as --host",
        ) from error
    if sys.platform == "linux":  # a connection has the options of its listener
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _WRITE_TIMEOUT_S * 1000)
    return listener


def format_url(listener: socket.socket) -> str:
    """Return the address of the page for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - no address that a browser could ask for
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class PageServer(uvicorn.Server):
    """uvicorn, without words of its own; `should_exit = True` stops it, as do Ctrl-C and SIGTERM in the main thread."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="on",
                access_log=False,
                log_config=None,
                # What goes wrong is said where it is answered.
                log_level=logging.CRITICAL,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, once; uvicorn's own would then raise it again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` leaves it
            numbers.append(signal.SIGHUP)
        previous = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
