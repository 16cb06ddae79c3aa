"""Flask on gunicorn's threaded workers: a thread for each request, connections kept in between."""

from __future__ import annotations

import bisect
import contextlib
import selectors
import ssl
import time
from concurrent.futures import Future
from functools import partial
from operator import attrgetter
from types import FrameType
from typing import cast

from gunicorn.workers.gthread import TConn, ThreadWorker

from services.platform.lifecycle import Runtime
from services.platform.limits import CONNECTIONS_FULL, CONNECTIONS_MAX, Notice
from services.platform.tls import Tls
from services.rest.gunicorn_master import Application, run_master
from services.rest.gunicorn_requests import TimedParser, drain, refuse

#: How long a worker that stops waits for requests that are on their way to it, on connections that it has kept;
#: gunicorn's 2 s would be the length of every stop.
_KEEPALIVE_LINGER_S = 0.2


class _Handshake:
    """Stands where a connection's parser will be until TLS is spoken. No thread waits for the client's part of it."""

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        #: What the connection waits for, of `selectors`; 0 when the handshake is over.
        self.event = selectors.EVENT_READ

    def go_on(self, conn: TConn) -> None:
        """Do, in a thread, as much of it as what is here allows. Raises OSError if it fails."""
        if not isinstance(conn.sock, ssl.SSLSocket):
            conn.sock = self._tls.wrap(conn.sock)
        try:
            conn.sock.do_handshake()
            self.event = 0
        except ssl.SSLWantReadError:
            self.event = selectors.EVENT_READ
        except ssl.SSLWantWriteError:
            self.event = selectors.EVENT_WRITE


class Worker(ThreadWorker):
    """gunicorn's threaded worker, which no slow client keeps a thread of for long."""

    app: Application
    _full = Notice()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop when requests are finished, which streams soon are."""
        self.app.stop_streams()
        super().handle_exit(sig, frame)

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
        if conn.parser is None:
            tls = self.app.settings.tls
            if tls is None:
                self._await_request(conn)
            else:
                conn.parser = cast(TimedParser, _Handshake(tls))
                conn.timeout = time.monotonic() + self.app.settings.read_timeout_s
                self._wait(conn, selectors.EVENT_READ)
            return
        if isinstance(conn.parser, TimedParser):
            # From now on, and not from when a thread is free: so all slow clients that wait for one
            # run out of time together.
            conn.parser.start_clock()
        super().enqueue_req(conn)

    def _await_request(self, conn: TConn) -> None:
        settings = self.app.settings
        conn.parser = TimedParser(self.cfg, conn.sock, conn.client, settings)
        conn.timeout = time.monotonic() + settings.read_timeout_s
        self._wait(conn, selectors.EVENT_READ)

    def _wait(self, conn: TConn, event: int) -> None:
        # gunicorn looks no further than to the first whose time isn't up.
        bisect.insort(self.pending_conns, conn, key=attrgetter("timeout"))
        self.poller.register(conn.sock, event, partial(self.on_pending_socket_readable, conn))

    def murder_pending(self) -> None:
        """Close connections that have sent nothing, at once when the worker stops."""
        if not self.alive:
            for conn in self.pending_conns:
                conn.timeout = 0.0
        super().murder_pending()

    def handle(self, conn: TConn) -> bool:
        """Answer a request, in a thread; return whether the connection is to be kept."""
        try:
            handshake = _handshake(conn)
            if handshake:
                handshake.go_on(conn)
                return True
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
        handshake = _handshake(conn)
        if fs.cancelled() or not fs.result():
            self.nr_conns -= 1
            conn.close()
        elif handshake is None:
            super().finish_request(conn, fs)
        elif handshake.event:
            self._wait(conn, handshake.event)
        else:
            self._await_request(conn)


def _handshake(conn: TConn) -> _Handshake | None:
    parser: object = conn.parser  # of which gunicorn's annotations know only its own
    return parser if isinstance(parser, _Handshake) else None


RUNTIME = Runtime("gunicorn-gthread", run_master=partial(run_master, worker_class=Worker))
