"""Starlette on uvicorn: all connections of a worker on one uvloop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.domain import stores
from services.platform import addresses, tls
from services.platform.lifecycle import Runtime, Worker
from services.platform.settings import Settings
from services.rest.api import Api
from services.rest.starlette_app import create_app
from services.rest.wire import HEAD_BYTES_MAX, head_too_long, malformed, too_slow

#: Bodies are limited where they are read.
_ROOM_OF_BODIES = sys.maxsize
#: How long a worker that stops waits for TLS clients to answer that it closes: those that read nothing now won't.
_FAREWELL_S = 1.0


def run(worker: Worker) -> None:
    """Serve until SIGTERM, then finish what is in flight."""
    settings = worker.settings
    config = uvicorn.Config(
        create_app(Api(worker)),
        loop="uvloop",
        http=_protocol(settings),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        # What goes wrong is logged where it is answered; uvicorn would add clients that leave too early.
        log_level=logging.CRITICAL,
        proxy_headers=False,
        backlog=addresses.BACKLOG,
        # uvicorn counts in whole seconds.
        timeout_keep_alive=math.ceil(settings.idle_timeout_s),
        timeout_graceful_shutdown=math.ceil(settings.drain_timeout_s),
    )
    with addresses.bind(settings.host, settings.port, shared=True) as listener:
        _Server(config, worker).run([listener])


class _Server(uvicorn.Server):
    """uvicorn's server, with the worker told when it listens."""

    def __init__(self, config: uvicorn.Config, worker: Worker) -> None:
        super().__init__(config)
        self._worker = worker

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        async with stores.held_open(self._worker.store):
            await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen. uvicorn's own would give clients a minute for a TLS handshake, and half a one to answer its end."""
        config, settings = self.config, self._worker.settings
        state = self.lifespan.state

        def protocol() -> asyncio.Protocol:
            return config.http_protocol_class(  # type: ignore[call-arg]  # as uvicorn's
                config=config, server_state=self.server_state, app_state=state
            )

        options = tls.asyncio_options(settings.tls, settings.read_timeout_s)
        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(protocol, sock=each, backlog=config.backlog, **options) for each in sockets or ()
        ]
        self.started = True
        self._worker.ready()

    def _stop(self) -> None:
        self._worker.stopping.set()
        self.handle_exit(signal.SIGTERM, None)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM as uvicorn does, but then return: uvicorn would raise the signal once more."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        yield


class _Protocol(HttpToolsProtocol):
    """uvicorn's protocol, with limits on what a client sends and on how long that takes."""

    settings: Settings
    # Both are None at first, whatever uvicorn's annotations say.
    scope: Any
    cycle: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own arguments
        super().__init__(*args, **kwargs)
        #: Whether the client has a request to send or to finish.
        self._owes = True
        #: How much may come before the head of a request has to be complete.
        self._room_bytes = HEAD_BYTES_MAX
        self._read_deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self._is_stopping = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._stop_waiting_to_write()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        room_bytes, cycle = self._room_bytes, self.cycle
        if len(data) > room_bytes:
            super().data_received(data[:room_bytes])
            if self._is_in_head() and self.cycle is cycle:  # not one head has ended in all this
                self._end(head_too_long())
            if self.transport.is_closing():
                return
            data = data[room_bytes:]
        super().data_received(data)
        # Most requests arrive in one piece, and cost no timer.
        if self._owes and not self.transport.is_closing():
            self._start_clock()
            self._measure_head(len(data), room_bytes, is_new=self.cycle is not cycle)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._owes = True

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._owes = False
        self._room_bytes = HEAD_BYTES_MAX
        if self._read_deadline is not None:
            self._stop_clock()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the contract's words instead
        self._end(malformed())

    def pause_writing(self) -> None:
        """Give a client as long to read a reply as it has to send a request, and longer in the middle of a stream."""
        super().pause_writing()
        is_stream = self.cycle is not None and self.cycle.chunked_encoding
        patience_s = self.settings.idle_timeout_s if is_stream else self.settings.read_timeout_s
        self._write_deadline = self.loop.call_later(patience_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_waiting_to_write()

    def shutdown(self) -> None:
        super().shutdown()
        self._is_stopping = True
        self._leave()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_stopping:
            self._leave()

    def _leave(self) -> None:
        """See to it that a connection that is closing has soon closed, if all is sent."""
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            self.loop.call_later(_FAREWELL_S, self.transport.abort)

    def _stop_waiting_to_write(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    def _start_clock(self) -> None:
        if self._read_deadline is None:
            self._read_deadline = self.loop.call_later(self.settings.read_timeout_s, self._time_out)

    def _stop_clock(self) -> None:
        if self._read_deadline is not None:
            self._read_deadline.cancel()
            self._read_deadline = None

    def _time_out(self) -> None:
        if self.scope is None:  # not a byte of a request
            self.transport.close()
        else:
            self._end(too_slow(self.settings))

    def _measure_head(self, size: int, room_bytes: int, *, is_new: bool) -> None:
        """Note how much of an unfinished request's head may still come, after `size` bytes for which there was room."""
        if not self._is_in_head():
            self._room_bytes = _ROOM_OF_BODIES
        elif not is_new and room_bytes != _ROOM_OF_BODIES:
            self._room_bytes = room_bytes - size

    def _is_in_head(self) -> bool:
        """Return whether the headers of the latest request have not ended: only then it gets its cycle."""
        return self.cycle is None or self.cycle.scope is not self.scope

    def _end(self, reply: bytes) -> None:
        """Close, with this reply where none has begun."""
        if self._is_in_head():
            is_due = self.cycle is None or self.cycle.response_complete
        else:
            is_due = not self.cycle.response_started
        if is_due:
            self.transport.write(reply)
        self.transport.close()


def _protocol(settings: Settings) -> type[HttpToolsProtocol]:
    return type("Protocol", (_Protocol,), {"settings": settings})


RUNTIME = Runtime("uvicorn", run=run, asynchronous=True)
