"""The socket server on uvloop: python -m wirebench_services.socket.asyncio_server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Coroutine
from typing import Any, cast

import uvloop

from wirebench_services import metrics, tls
from wirebench_services.application.operations import resolve
from wirebench_services.application.stores import AsyncStore, open_async_store
from wirebench_services.settings import STOP_SIGNALS, SocketSettings, read_settings
from wirebench_services.socket.conversation import Call, Conversation

#: Clients that may wait to be accepted: asyncio's default, 100, is less than a load generator opens at once.
_BACKLOG = 1024
#: How long a client may take to answer close_notify: the default of 30 s would hold up a stop.
_TLS_CLOSE_TIMEOUT_S = 1.0


class Connection(Conversation, asyncio.Protocol):
    """A client's connection, which answers one call after another; `connections` are all those of the worker."""

    def __init__(self, settings: SocketSettings, store: AsyncStore, connections: set[Connection]) -> None:
        super().__init__(settings)
        self._store = store
        self._connections = connections
        #: Answers a call that waits for the store.
        self._task: asyncio.Task[None] | None = None
        self._is_writable = True
        self._is_draining = False
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self.feed(data)
        self._answer_calls()

    def eof_received(self) -> bool:
        self.feed(b"")
        self._answer_calls()
        # True leaves our side open for replies that are due; TLS has no such half-open connections.
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._is_writable = False
        self.restart_clock()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_writable = True
        self.restart_clock()
        self._answer_calls()

    def drain(self) -> None:
        """Close once no request is partly received."""
        self._is_draining = True
        self._answer_calls()

    def close_if_overdue(self, now_s: float) -> None:
        """Close if the client is over a timeout."""
        is_busy = self._task and self._is_writable and not self._transport.is_closing()
        if not is_busy and now_s > self.deadline_s:
            self._transport.abort()

    def _answer_calls(self) -> None:
        """Answer complete calls one after another, while the client reads replies."""
        while self._is_writable and not self._task and (call := self.next_call()):
            self._answer(call)
        if not self._is_writable or (self._task and not self.is_between_requests):
            self._transport.pause_reading()
            return
        self._transport.resume_reading()
        if (self.has_ended or (self._is_draining and self.is_between_requests)) and not self._task:
            self._transport.close()

    def _answer(self, call: Call) -> None:
        try:
            value = call.handle(self._store)
            if asyncio.iscoroutine(value):
                self._task = asyncio.get_running_loop().create_task(self._answer_later(call, value))
                return
            reply = call.succeed(value)
        except Exception as error:  # noqa: BLE001 - every error is answered, and an unexpected one is logged
            reply = call.fail(error)
        self._send(reply)

    async def _answer_later(self, call: Call, value: Coroutine[Any, Any, Any]) -> None:
        """Wait for the store, reply, and then go on with further calls."""
        try:
            reply = call.succeed(await value)
        except Exception as error:  # noqa: BLE001
            reply = call.fail(error)
        self._send(reply)
        self._task = None
        self._answer_calls()

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)


async def _serve(settings: SocketSettings) -> None:
    """Serve until SIGTERM, then finish what has begun."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    store = open_async_store(settings)
    connections: set[Connection] = set()
    context = tls.make_context(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, settings.port)
    listener = await loop.create_server(
        lambda: Connection(settings, store, connections),
        # Alone on its port, unless several workers share it.
        sock=socket.create_server(
            address, family=family, reuse_port=settings.workers > 1, dualstack_ipv6=settings.host == "::"
        ),
        backlog=_BACKLOG,
        ssl=context,
        ssl_handshake_timeout=settings.read_timeout_s if context else None,
        ssl_shutdown_timeout=_TLS_CLOSE_TIMEOUT_S if context else None,
    )
    metrics.WORKERS.set(1)
    # Looking for connections over a timeout costs less than a timer for each request.
    sweep_s = min(1.0, settings.read_timeout_s / 4, settings.idle_timeout_s / 4)
    while not stop.is_set():
        for connection in list(connections):
            connection.close_if_overdue(time.perf_counter())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), sweep_s)
    listener.close()
    for connection in list(connections):
        connection.drain()
    if connections:
        await asyncio.wait([each.closed for each in connections], timeout=settings.drain_timeout_s)
    await resolve(store.close())


if __name__ == "__main__":
    uvloop.run(_serve(read_settings(SocketSettings)))
