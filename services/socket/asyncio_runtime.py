"""All connections of a worker on one uvloop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
from typing import cast

import uvloop

from services.domain import stores
from services.operations import Codec, Stream
from services.platform import addresses, tls
from services.platform.lifecycle import Runtime, Worker
from services.socket.calls import Calls
from services.socket.frames import Request
from services.socket.session import LINGER_BYTES_MAX, Session
from services.socket.streams import Streams

#: Requests of one connection that may wait for the store.
_OUTSTANDING_MAX = 16
#: Replies that may wait for one client before no more of its requests begin.
_WRITE_BUFFER_BYTES = 1024 * 1024
#: Of streams less may wait: they can go on at any time, and many clients may read slowly.
_STREAM_BUFFER_BYTES = 64 * 1024
_SWEEP_INTERVAL_S_MAX = 1.0


def run(worker: Worker) -> None:
    """Serve until SIGTERM, then finish what is in flight."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(worker))


async def _run(worker: Worker) -> None:
    async with stores.held_open(worker.store):
        await _Server(worker).serve()


class _Server:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.settings = worker.settings
        self.calls = Calls(worker)
        self._connections: set[_Connection] = set()
        self._last_has_gone = asyncio.Event()

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        bound = addresses.bind(self.settings.host, self.settings.port, shared=True)
        options = tls.asyncio_options(self.settings.tls, self.settings.read_timeout_s)
        listener = await loop.create_server(lambda: _Connection(self), sock=bound, backlog=addresses.BACKLOG, **options)
        sweeping = loop.create_task(self._sweep())
        self.worker.ready()
        await stop.wait()
        listener.close()
        await self._drain()
        sweeping.cancel()

    def welcome(self, connection: _Connection) -> None:
        """Note a connection."""
        self._connections.add(connection)

    def forget(self, connection: _Connection) -> None:
        """Note that a connection has ended."""
        self._connections.discard(connection)
        if not self._connections:
            self._last_has_gone.set()

    async def _sweep(self) -> None:
        """Close connections whose time is up: one pass for all costs less than a timer for each request."""
        shortest_s = min(self.settings.read_timeout_s, self.settings.idle_timeout_s)
        while True:
            await asyncio.sleep(min(_SWEEP_INTERVAL_S_MAX, shortest_s / 4))
            now_s = time.monotonic()
            for connection in [each for each in self._connections if each.is_overdue(now_s)]:
                connection.abort()

    async def _drain(self) -> None:
        self._last_has_gone.clear()
        for connection in list(self._connections):
            connection.drain()
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._last_has_gone.wait(), self.settings.drain_timeout_s)
        for connection in list(self._connections):
            connection.abort()


class _Connection(asyncio.Protocol):
    """Carries bytes between a transport and a session."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        worker = server.worker
        if worker.application.asynchronous:
            dispatch, streams = self._dispatch_async, Streams(worker, self._load_async)
        else:
            dispatch, streams = server.calls.answer, Streams(worker)
        self._session = Session(server.settings, server.calls, dispatch, streams, time.monotonic())
        #: Answers that wait for the store; a loop itself keeps no task from being collected.
        self._outstanding: set[asyncio.Task[bytes]] = set()
        self._loading: set[asyncio.Task[None]] = set()
        self._writable = True
        self._reading = True
        self._turn_is_due = False
        #: When streams have their next turn, if not at once.
        self._timer: asyncio.TimerHandle | None = None
        #: Whether all replies are handed over and only the client's end of the connection is open.
        self._half_closed = False
        self._client_has_ended = False
        #: When to give up a client that doesn't read, or doesn't close, what it has to.
        self._patience_ends_s: float | None = None
        self._discarded_bytes = 0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(_WRITE_BUFFER_BYTES)
        self._transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server.welcome(self)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - how it ended makes no difference
        self._session.leave()
        self._server.forget(self)

    def data_received(self, data: bytes) -> None:
        session = self._session
        if session.closing:
            self._discard(data)
            return
        replies = session.receive(data, time.monotonic())
        if replies:
            self._transport.write(replies)
        if session.streaming or session.backlog or session.closing:
            self._attend()

    def eof_received(self) -> bool:
        self._client_has_ended = True
        if self._half_closed:
            self._transport.close()
        elif not self._session.closing:
            self._write(self._session.end())
        self._attend()
        # True keeps the transport open for replies that are due; one with TLS can't be.
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        self._writable = False
        self._patience_ends_s = time.monotonic() + self._server.settings.idle_timeout_s
        self._attend()

    def resume_writing(self) -> None:
        self._writable = True
        if not self._half_closed:
            self._patience_ends_s = None
            self._session.restart_clock(time.monotonic())
            self._attend()

    def drain(self) -> None:
        """Close between frames."""
        self._session.drain()
        self._advance()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def is_overdue(self, now_s: float) -> bool:
        """Return whether the client has kept the connection waiting for too long."""
        if self._patience_ends_s is not None:
            return now_s > self._patience_ends_s
        busy = self._outstanding or self._session.backlog or self._session.streaming
        return not busy and now_s > self._session.deadline_s

    def _advance(self) -> None:
        """Answer more of the requests that are here, and send what streams have."""
        self._turn_is_due = False
        session = self._session
        if not (session.closing or self._transport.is_closing()):
            self._write(session.receive(b"", time.monotonic()))
            if session.streaming and self._writable:
                self._write(session.produce(time.monotonic()))
            self._attend()

    def _write(self, replies: bytes) -> None:
        if replies and not self._transport.is_closing():
            self._transport.write(replies)

    def _attend(self) -> None:
        """Do what the state asks for: half-close, go on with requests that are here, or read on."""
        session = self._session
        if session.closing:
            self._half_close()
            return
        if session.backlog and not session.paused and self._writable:
            self._take_turn()
        if session.streaming:
            self._schedule_streams()
        self._read(wanted=not session.backlog and (self._writable or self._may_cancel()))

    def _may_cancel(self) -> bool:
        """Return whether to listen to a client that doesn't read: for streams, and as long as it asks for little."""
        return self._session.streaming and self._transport.get_write_buffer_size() < _WRITE_BUFFER_BYTES

    def _take_turn(self) -> None:
        """Go on in a turn of its own, so that one busy client doesn't keep the loop from the others."""
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._advance)

    def _schedule_streams(self) -> None:
        self._transport.set_write_buffer_limits(_STREAM_BUFFER_BYTES)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wait_s = self._session.wait_s(time.monotonic()) if self._writable else None
        if wait_s:
            self._timer = self._loop.call_later(wait_s, self._advance)
        elif wait_s is not None:
            self._take_turn()

    def _read(self, *, wanted: bool) -> None:
        if wanted != self._reading and not self._transport.is_closing():
            self._reading = wanted
            if wanted:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _half_close(self) -> None:
        """End the replies once all are written, and wait for the client to end its requests."""
        if self._outstanding or self._half_closed or self._transport.is_closing():
            return
        self._half_closed = True
        self._patience_ends_s = time.monotonic() + self._session.linger_s
        if self._client_has_ended or not self._transport.can_write_eof():
            # With TLS this too waits for the client to end, and reads what it sends until then.
            self._transport.close()
        else:
            self._transport.write_eof()
            self._read(wanted=True)

    def _discard(self, data: bytes) -> None:
        self._discarded_bytes += len(data)
        if self._discarded_bytes > LINGER_BYTES_MAX:
            self.abort()

    def _dispatch_async(self, codec: Codec, request: Request) -> bytes:
        answer = self._loop.create_task(self._server.calls.answer_async(codec, request))
        answer.add_done_callback(self._answered)
        self._outstanding.add(answer)
        self._session.paused = len(self._outstanding) >= _OUTSTANDING_MAX
        return b""

    def _load_async(self, stream: Stream) -> bool:
        def loaded(task: asyncio.Task[None]) -> None:
            self._loading.discard(task)
            stream.is_loading = False
            self._attend()

        loading = self._loop.create_task(stream.load_async())
        loading.add_done_callback(loaded)
        self._loading.add(loading)
        return False

    def _answered(self, answer: asyncio.Task[bytes]) -> None:
        self._outstanding.discard(answer)
        if answer.cancelled():  # the service stops, and time is up
            return
        self._session.paused = False
        self._write(answer.result())
        if self._session.backlog or self._session.closing:
            self._attend()


RUNTIME = Runtime("asyncio", run=run, asynchronous=True)
