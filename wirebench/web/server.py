"""The HTTP server: listens, serves until it is told to stop, and is gone soon after."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from wirebench.errors import UsageError

#: How long answers that are on their way may take once the server is to stop; those still unfinished are cut off.
GRACE_S = 1
#: How long a client may take to send a request, from when it has connected or has got the answer before.
REQUEST_S = 10.0
_BACKLOG = 128


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 takes a free one. Raises UsageError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(
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


def format_url(listener: socket.socket) -> str:
    """Return the address of the page for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - no address that a browser could ask for
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


class _Protocol(H11Protocol):
    """uvicorn's protocol, which of itself waits for ever for a client that has sent nothing, or half a request."""

    # None at first, whatever uvicorn's annotation says.
    cycle: Any
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._await_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(REQUEST_S, self._hang_up)

    def _hang_up(self) -> None:
        """End the connection, unless a request is being answered: its client then gets as long again for the next."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class PageServer(uvicorn.Server):
    """uvicorn, without words of its own; `should_exit = True` stops it, as do Ctrl-C and SIGTERM in the main thread."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Protocol,
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
