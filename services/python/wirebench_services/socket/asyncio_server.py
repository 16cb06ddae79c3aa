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
from wirebench_services.application.errors import Cancelled, Stopping
from wirebench_services.application.ledger import StreamQuery, stream_transactions_async
from wirebench_services.application.stores import AsyncStore, open_async_store
from wirebench_services.application.stores.memory import AsyncMemoryStore
from wirebench_services.settings import SocketSettings, read_settings
from wirebench_services.socket.conversation import CANCEL, STREAM, Call, Conversation, choose_sweep_s
from wirebench_services.workers import STOP_SIGNALS, run_workers

#: Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
_STREAMS_MAX = 100
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
        super().__init__(settings)
        self._store = store
        self._async_store = async_store
        self._connections = connections
        self._streams: dict[int, Call] = {}
        #: Of calls that wait for the store, and of streams: the event loop keeps only weak references to tasks.
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_draining = False
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_streams(Cancelled())
        self._writable.set()  # streams may wait for the client to read
        self._connections.discard(self)
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self.feed(data)
        self._answer_calls()

    def eof_received(self) -> bool:
        self.feed(b"")
        self._end_streams(Cancelled())
        self._answer_calls()
        # True leaves our side open for replies that are due; TLS has no such half-open connections.
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._writable.clear()
        self.restart_clock()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._writable.set()
        self.restart_clock()
        self._answer_calls()

    def drain(self) -> None:
        """End streams, and close once no request is partly received."""
        self._is_draining = True
        self._end_streams(Stopping())
        self._answer_calls()

    def close_if_overdue(self, now_s: float) -> None:
        """Close if the client is over a timeout."""
        is_writable = self._writable.is_set() and not self._transport.is_closing()
        is_busy = self._tasks and is_writable and self.is_between_requests
        if not is_busy and now_s > self.deadline_s:
            self._transport.abort()

    def _answer_calls(self) -> None:
        """Answer complete calls while the client reads replies and the store keeps up."""
        while self._writable.is_set() and self._waiting < _WAITING_MAX:
            call = self.next_call()
            if call is None:
                break
            self._answer(call)
        else:
            self._transport.pause_reading()
            return
        self._transport.resume_reading()
        if (self.has_ended or (self._is_draining and self.is_between_requests)) and not self._waiting:
            self._transport.close()

    def _answer(self, call: Call) -> None:
        try:
            if call.method == CANCEL:
                self._end_stream(self._streams.get(call.id, call), Cancelled())
            elif call.id in self._streams:
                self.stop()  # the client could not tell the replies apart
                self._send(call.finish("invalid_argument", f"A stream with the id {call.id} is open."))
            elif call.method == STREAM:
                self._open_stream(call)
            elif asyncio.iscoroutine(value := call.handle(self._store)):
                self._waiting += 1
                self._run(self._answer_later(call, value))
            else:
                self._send(call.succeed(value))
        except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
            self._send(call.fail(error))

    async def _answer_later(self, call: Call, value: Coroutine[Any, Any, Any]) -> None:
        """Wait for the store: replies may come out of order."""
        try:
            reply = call.succeed(await value)
        except Exception as error:  # noqa: BLE001
            reply = call.fail(error)
        self._send(reply)
        self._waiting -= 1
        self._answer_calls()  # further requests may wait for this one, or the end of the connection

    def _open_stream(self, call: Call) -> None:
        if len(self._streams) >= _STREAMS_MAX:
            self._send(call.finish("resource_exhausted", f"{_STREAMS_MAX} streams are open on this connection."))
            return
        query = call.parse_stream()
        self._streams[call.id] = call
        self._run(self._stream(call, query))

    async def _stream(self, call: Call, query: StreamQuery) -> None:
        try:
            async for transactions in stream_transactions_async(self._async_store.list_transactions, query):
                await self._writable.wait()
                if self._streams.get(call.id) is not call:
                    return
                self._send(call.build_items(transactions))
            self._end_stream(call)
        except Exception as error:  # noqa: BLE001
            self._end_stream(call, error)

    def _end_stream(self, call: Call, error: Exception | None = None) -> None:
        """Send the end mark of a stream, unless it has ended already."""
        if self._streams.get(call.id) is call:
            del self._streams[call.id]
            self.restart_clock()
            self._send(call.fail(error) if error else call.finish("ok", ""))

    def _end_streams(self, error: Exception) -> None:
        for call in list(self._streams.values()):
            self._end_stream(call, error)

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

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
    metrics.WORKERS.set(1)
    while not stop.is_set():
        for connection in list(connections):
            connection.close_if_overdue(time.perf_counter())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), choose_sweep_s(settings))
    listener.close()
    for connection in list(connections):
        connection.drain()
    if connections:
        await asyncio.wait([each.closed for each in connections], timeout=settings.drain_timeout_s)
    await store.close()


if __name__ == "__main__":
    settings = read_settings(SocketSettings)
    run_workers(settings.workers, lambda: uvloop.run(_serve(settings)))
