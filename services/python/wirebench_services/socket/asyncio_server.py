"""The socket server on uvloop: python -m wirebench_services.socket.asyncio_server."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Coroutine
from typing import Any, cast

import uvloop

from wirebench_services import metrics, tls
from wirebench_services.application.ledger import StreamQuery, stream_transactions_async
from wirebench_services.application.stores import AsyncStore, open_async_store
from wirebench_services.application.stores.memory import AsyncMemoryStore
from wirebench_services.settings import SocketSettings, read_settings
from wirebench_services.socket.conversation import CANCELLED, STOPPING, Call, Conversation, describe_error
from wirebench_services.workers import run_workers

#: Calls of a connection that may wait for the store before no more of its requests are read.
_WAITING_MAX = 100
#: Clients that may wait to be accepted: asyncio's default, 100, is less than a load generator opens at once.
_BACKLOG = 1024
#: How long a client may take to answer close_notify: the default of 30 s would hold up a stop.
_TLS_CLOSE_TIMEOUT_S = 1.0


class Connection(Conversation, asyncio.Protocol):
    """A client's connection; `connections` are all those of the worker."""

    def __init__(
        self, settings: SocketSettings, store: Any, async_store: AsyncStore, connections: set[Connection]  # noqa: ANN401
    ) -> None:  # fmt: skip
        super().__init__(settings, store)
        self._async_store = async_store
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._calls: set[asyncio.Task[None]] = set()
        self._stream_tasks: set[asyncio.Task[None]] = set()
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_draining = False
        self.closed = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.feed(b"")
        self.end_streams(*CANCELLED)
        self._writable.set()  # streams may wait for the client to read
        self._connections.discard(self)
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self.feed(data)
        self._answer_requests()

    def eof_received(self) -> bool:
        self.feed(b"")
        self.end_streams(*CANCELLED)
        self._answer_requests()
        # True leaves our side open for replies that are due; TLS has no such half-open connections.
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._writable.clear()
        self.restart_clock()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._writable.set()
        self.restart_clock()
        self._answer_requests()

    def drain(self) -> None:
        """End streams, and close once no request is half-way."""
        self._is_draining = True
        self.end_streams(*STOPPING)
        self._answer_requests()

    def close_if_overdue(self, now_s: float) -> None:
        """Close if the client has kept the connection waiting for too long."""
        is_busy = (self._calls or self._streams) and self._writable.is_set() and self.is_between_requests
        if not is_busy and now_s > self.deadline_s:
            self._transport.abort()

    def send(self, data: bytes) -> None:
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def start_stream(self, call: Call, query: StreamQuery) -> None:
        self._run(self._stream_tasks, self._stream(call, query))

    def answer_later(self, call: Call, value: Coroutine[Any, Any, Any]) -> None:
        """Await the store in a task: replies may come out of order."""
        self._run(self._calls, self._answer_later(call, value))

    def _run(self, tasks: set[asyncio.Task[None]], coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        tasks.add(task)  # the event loop itself keeps no task from being collected
        task.add_done_callback(tasks.discard)

    async def _answer_later(self, call: Call, value: Coroutine[Any, Any, Any]) -> None:
        try:
            self.send(call.succeed(await value))
        except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
            self.send(call.finish(*describe_error(error)))
        # Further requests may wait for this one, or the end of the connection.
        self._loop.call_soon(self._answer_requests)

    async def _stream(self, call: Call, query: StreamQuery) -> None:
        try:
            async for transactions in stream_transactions_async(self._async_store, query):
                await self._writable.wait()
                if not self.is_open(call):
                    return
                self.send(call.build_items(transactions))
            self.end_stream(call)
        except Exception as error:  # noqa: BLE001
            self.end_stream(call, *describe_error(error))

    def _answer_requests(self) -> None:
        """Answer the requests that are here, as far as the client reads replies and the store keeps up."""
        reply: bytes | None = b""
        while reply is not None and self._writable.is_set() and len(self._calls) < _WAITING_MAX:
            reply = self.answer_next()
            self.send(reply or b"")
        if reply is not None:
            self._transport.pause_reading()
            return
        self._transport.resume_reading()
        if (self.has_ended or (self._is_draining and self.is_between_requests)) and not self._calls:
            self._transport.close()


async def _serve(settings: SocketSettings) -> None:
    """Serve until SIGTERM, then finish what has begun."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    store = open_async_store(settings)
    # The memory store's own methods return at once and need no task.
    direct = store.store if isinstance(store, AsyncMemoryStore) else store
    connections: set[Connection] = set()
    context = tls.make_context(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, settings.port)
    listener = await loop.create_server(
        lambda: Connection(settings, direct, store, connections),
        sock=socket.create_server(address, family=family, reuse_port=True, dualstack_ipv6=settings.host == "::"),
        backlog=_BACKLOG,
        ssl=context,
        ssl_handshake_timeout=settings.read_timeout_s if context else None,
        ssl_shutdown_timeout=_TLS_CLOSE_TIMEOUT_S if context else None,
    )
    sweeper = asyncio.create_task(_close_overdue(connections, min(settings.read_timeout_s, settings.idle_timeout_s)))
    metrics.WORKERS.set(1)
    await stop.wait()
    listener.close()
    sweeper.cancel()
    for connection in list(connections):
        connection.drain()
    if connections:
        await asyncio.wait([each.closed for each in connections], timeout=settings.drain_timeout_s)
    await store.close()


async def _close_overdue(connections: set[Connection], timeout_s: float) -> None:
    """Close connections whose time is up: one task costs less than a timer for each request."""
    while True:
        await asyncio.sleep(min(1.0, timeout_s / 4))
        for connection in list(connections):
            connection.close_if_overdue(time.monotonic())


if __name__ == "__main__":
    settings = read_settings(SocketSettings)
    run_workers(settings.workers, lambda: uvloop.run(_serve(settings)))
