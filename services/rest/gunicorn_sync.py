"""Flask on gunicorn's simplest workers: one request and one connection at a time."""

from __future__ import annotations

import contextlib
import socket
import ssl
from functools import partial
from types import FrameType

from gunicorn.workers.sync import SyncWorker

from services.platform.lifecycle import Runtime
from services.rest.gunicorn_master import Application, run_master
from services.rest.gunicorn_requests import Address, TimedParser, drain, refuse


class Worker(SyncWorker):
    """gunicorn's sync worker, which no client holds up for longer than the time limit."""

    app: Application

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop when the request is finished, which a stream soon is."""
        self.app.stop_streams()
        super().handle_exit(sig, frame)

    def handle(self, listener: socket.socket, client: socket.socket, addr: Address) -> None:
        """Answer one request and close the connection."""
        settings = self.app.settings
        with contextlib.suppress(OSError), settings.tls.wrap(client) if settings.tls else client as connection:
            try:
                if isinstance(connection, ssl.SSLSocket):
                    connection.settimeout(settings.read_timeout_s)
                    connection.do_handshake()
                parser = TimedParser(self.cfg, connection, addr, settings)
                parser.start_clock()
                request = next(parser)
                self.handle_request(listener, request, connection, addr)
                drain(request, settings)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
                refuse(connection, error, settings)


RUNTIME = Runtime("gunicorn-sync", run_master=partial(run_master, worker_class=Worker))
