"""The socket server on uvloop: python -m wirebench_services.socket.asyncio_server."""

from __future__ import annotations

import asyncio
import inspect
import signal
import socket
import time
from collections.abc import Coroutine
from typing import Any, cast

import uvloop

from wirebench_services import metrics, tls
from wirebench_services.application.errors import InvalidArgument, OperationError, Unavailable
from wirebench_services.application.ledger import StreamQuery, stream_transactions_async
from wirebench_services.application.stores import AsyncStore, Store, open_async_store, open_store
from wirebench_services.application.stores.asynchronous import BlockingAsyncStore
from wirebench_services.settings import SocketSettings, read_settings
from wirebench_services.socket.calls import CANCEL, STREAM, STREAMS_MAX, Call, Cancelled
from wirebench_services.socket.frame import ResourceExhausted
from wirebench_services.socket.parser import Parser
from wirebench_services.workers import run_workers

#: Calls of a connection that may wait for the store before no more of its requests are read.
_TASKS_MAX = 100
#: Replies of a connection that are written at once; then the other connections have a turn.
_TURN_BYTES = 256 * 1024
_SWEEP_INTERVAL_S_MAX = 1.0
#: Clients that may wait to be accepted; asyncio's default of 100 is less than a load generator opens at once.
_BACKLOG = 1024


class Connection(asyncio.Protocol):
    """A client's connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._parser = Parser(server.settings)
        #: Calls that wait for the store, and streams; the event loop itself keeps no task from being collected.
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: dict[int, tuple[Call, asyncio.Task[None]]] = {}
        self._writable = asyncio.Event()
        self._writable.set()
        self._is_reading = True
        self._is_draining = False
        self.closed = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._parser.stop()
        self._end_streams(Cancelled())
        self._server.connections.discard(self)
        self.closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._parser.feed(data)
        self._answer_requests()

    def eof_received(self) -> bool:
        self._parser.end()
        self._end_streams(Cancelled())
        self._answer_requests()
        # True leaves our side open for replies that are due; TLS has no such half-open connections.
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._writable.clear()
        self._parser.restart_clock()
        self._set_reading(wanted=False)

    def resume_writing(self) -> None:
        self._writable.set()
        self._parser.restart_clock()
        self._answer_requests()

    def drain(self) -> None:
        """End streams, and close once no request is half-way."""
        self._is_draining = True
        self._end_streams(Unavailable("The service is stopping."))
        self._answer_requests()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def is_overdue(self, now_s: float) -> bool:
        """Return whether the client has kept the connection waiting for too long."""
        is_busy = (self._tasks or self._streams) and self._writable.is_set() and self._parser.is_between_requests
        return not is_busy and now_s > self._parser.deadline_s

    def _answer_requests(self) -> None:
        """Answer the requests that are here, as far as the client reads replies and the store keeps up."""
        if self._transport.is_closing():
            return
        replies: list[bytes] = []
        size, is_done = 0, False
        while not is_done and size < _TURN_BYTES and len(self._tasks) < _TASKS_MAX and self._writable.is_set():
            call = self._parser.next_call()
            is_done = call is None
            if call is not None:
                replies.append(self._answer(call))
                size += len(replies[-1])
        self._write(b"".join(replies))
        self._set_reading(wanted=is_done)
        if size >= _TURN_BYTES:
            self._loop.call_soon(self._answer_requests)
        is_last = self._parser.has_ended or (self._is_draining and self._parser.is_between_requests)
        if is_done and is_last and not self._tasks:
            self._transport.close()

    def _answer(self, call: Call) -> bytes:
        """Return the reply, or nothing if it comes later."""
        try:
            if call.method == CANCEL:
                self._end_stream(call.id, Cancelled())
                return b""
            if call.id in self._streams:
                self._parser.stop()
                raise InvalidArgument(f"A stream with the id {call.id} is open.")
            if call.method == STREAM:
                self._open_stream(call)
                return b""
            value = call.start(self._server.store)
            if not inspect.iscoroutine(value):
                return call.succeed(value)
            task = self._loop.create_task(self._answer_later(call, value))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
            return call.fail(error)
        return b""

    async def _answer_later(self, call: Call, value: Coroutine[Any, Any, Any]) -> None:
        try:
            reply = call.succeed(await value)
        except Exception as error:  # noqa: BLE001
            reply = call.fail(error)
        self._write(reply)
        # Requests may wait for this one, or the end of the connection.
        self._loop.call_soon(self._answer_requests)

    def _open_stream(self, call: Call) -> None:
        query = call.parse_query()
        if len(self._streams) >= STREAMS_MAX:
            raise ResourceExhausted(f"{STREAMS_MAX} streams are open on this connection.")
        self._streams[call.id] = call, self._loop.create_task(self._stream(call, query))

    async def _stream(self, call: Call, query: StreamQuery) -> None:
        try:
            async for transactions in stream_transactions_async(self._server.async_store, query):
                await self._writable.wait()
                self._write(call.build_items(transactions))
            end = call.end_stream()
        except Exception as error:  # noqa: BLE001
            end = call.fail(error)
        del self._streams[call.id]
        self._write(end)
        self._parser.restart_clock()

    def _end_stream(self, stream_id: int, error: OperationError) -> None:
        if stream_id in self._streams:
            call, task = self._streams.pop(stream_id)
            task.cancel()
            self._write(call.fail(error))

    def _end_streams(self, error: OperationError) -> None:
        for stream_id in list(self._streams):
            self._end_stream(stream_id, error)

    def _write(self, data: bytes) -> None:
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def _set_reading(self, *, wanted: bool) -> None:
        if wanted != self._is_reading:
            self._is_reading = wanted
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()


class Server:
    """The connections of a worker."""

    def __init__(self, settings: SocketSettings, store: Store | AsyncStore, async_store: AsyncStore) -> None:
        self.settings = settings
        #: A store that never waits answers without a task.
        self.store = store
        self.async_store = async_store
        self.connections: set[Connection] = set()

    async def serve(self, stop: asyncio.Event) -> None:
        """Serve until told to stop, then finish what has begun."""
        loop = asyncio.get_running_loop()
        host, context = self.settings.host, tls.make_context(self.settings)
        listener = await loop.create_server(
            lambda: Connection(self),
            sock=socket.create_server(
                (host, self.settings.port),
                family=socket.AF_INET6 if ":" in host else socket.AF_INET,
                dualstack_ipv6=host == "::",
                reuse_port=True,
            ),
            backlog=_BACKLOG,
            ssl=context,
            ssl_handshake_timeout=self.settings.read_timeout_s if context else None,
        )
        sweeper = loop.create_task(self._close_overdue())
        metrics.WORKERS.set(1)
        await stop.wait()
        listener.close()
        await self._drain()
        sweeper.cancel()

    async def _close_overdue(self) -> None:
        """Close connections whose time is up; a timer for each request would cost more."""
        shortest_s = min(self.settings.read_timeout_s, self.settings.idle_timeout_s)
        while True:
            await asyncio.sleep(min(_SWEEP_INTERVAL_S_MAX, shortest_s / 4))
            now_s = time.monotonic()
            for connection in list(self.connections):
                if connection.is_overdue(now_s):
                    connection.abort()

    async def _drain(self) -> None:
        connections = list(self.connections)
        for connection in connections:
            connection.drain()
        if connections:
            await asyncio.wait([each.closed for each in connections], timeout=self.settings.drain_timeout_s)
        for connection in list(self.connections):
            connection.abort()


async def _serve(settings: SocketSettings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if settings.store == "memory":
        memory = open_store(settings)
        store: AsyncStore = BlockingAsyncStore(memory, None)
        await Server(settings, memory, store).serve(stop)
    else:
        store = await open_async_store(settings)
        await Server(settings, store, store).serve(stop)
    await store.close()


if __name__ == "__main__":
    settings = read_settings(SocketSettings)
    run_workers(settings.workers, lambda: uvloop.run(_serve(settings)))
