"""Flask on gunicorn's threaded workers: a thread for each request, connections kept in between."""

from __future__ import annotations

import contextlib
import selectors
import time
from concurrent.futures import Future
from functools import partial
from typing import cast

from gunicorn.workers.gthread import TConn, ThreadWorker

from services.platform.lifecycle import Runtime
from services.platform.limits import CONNECTIONS_FULL, CONNECTIONS_MAX, Notice
from services.rest.gunicorn_master import Application, run_master
from services.rest.gunicorn_requests import TimedParser, drain, refuse

#: How long a worker that stops waits for requests that are on their way to it, on connections that it has kept;
#: gunicorn's 2 s would be the length of every stop.
_KEEPALIVE_LINGER_S = 0.2


class Worker(ThreadWorker):
    """gunicorn's threaded worker, which no slow client keeps a thread of for long."""

    app: Application
    _full = Notice()

    def set_accept_enabled(self, enabled: bool | None) -> None:  # noqa: FBT001 - gunicorn's signature
        """Accept further clients, or don't, and say so."""
        if self.alive and not enabled and self.nr_conns >= CONNECTIONS_MAX:
            self._full.give(CONNECTIONS_FULL, CONNECTIONS_MAX)
        super().set_accept_enabled(enabled)

    def _cap_keepalive(self, deadline: float) -> None:
        soon = time.monotonic() + _KEEPALIVE_LINGER_S
        super()._cap_keepalive(min(deadline, soon))  # type: ignore[misc]  # missing in the stubs

    def enqueue_req(self, conn: TConn) -> None:
        """Hand a connection to a thread; a new one only when there is something to read."""
        if isinstance(conn.parser, TimedParser):
            # From now on, and not from when a thread is free: so all slow clients that wait for one
            # run out of time together.
            conn.parser.start_clock()
            super().enqueue_req(conn)
            return
        settings = self.app.settings
        conn.parser = TimedParser(self.cfg, conn.sock, conn.client, settings)
        conn.timeout = time.monotonic() + settings.read_timeout_s
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def murder_pending(self) -> None:
        """Close connections that have sent nothing, at once when the worker stops."""
        if not self.alive:
            for conn in self.pending_conns:
                conn.timeout = 0.0
        super().murder_pending()

    def handle(self, conn: TConn) -> bool:
        """Answer a request, in a thread; return whether the connection is to be kept."""
        try:
            request = next(cast(TimedParser, conn.parser))
            return self.handle_request(request, conn) and drain(request, self.app.settings)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
            with contextlib.suppress(OSError):
                refuse(conn.sock, error, self.app.settings)
            return False

    def finish_request(self, conn: TConn, fs: Future[bool]) -> None:
        """Keep a connection, or close it.

        gunicorn would wait for the client to close its end too: here, in its main thread, for up to 2 s.
        """
        if not fs.cancelled() and fs.result():
            super().finish_request(conn, fs)
        else:
            self.nr_conns -= 1
            conn.close()


RUNTIME = Runtime("gunicorn-gthread", run_master=partial(run_master, worker_class=Worker))
