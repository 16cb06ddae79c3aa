"""The admin port: liveness, readiness, metrics and usage, served by the supervisor."""

from __future__ import annotations

import dataclasses
import importlib
import json  # not orjson: an early Ctrl-C that meets its import ends Python with a segmentation fault
import os
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from services.platform import addresses
from services.platform.settings import Settings
from services.platform.usage import read_usage

_READ_TIMEOUT_S = 5.0


class AdminServer:
    """Answers /livez, /readyz, /metrics and /usage from threads of its own."""

    def __init__(self, settings: Settings, is_live: Callable[[], bool], is_ready: Callable[[], bool]) -> None:
        """Bind the port; raises OSError if that fails."""
        self.draining = False
        self._settings = settings
        self._is_live = is_live
        self._is_ready = is_ready
        self._server = _Server(settings.host, settings.admin_port, _handler_of(self))
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Serve from now on. Not before the workers are forked: threads don't survive a fork."""
        importlib.import_module("services.platform.exposition")  # so that the first scrape doesn't wait for it
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="admin", daemon=True)
        self._thread.start()

    def close_socket(self) -> None:
        """Let go of the port, in a worker that has inherited it."""
        self._server.socket.close()

    def close(self) -> None:
        """Stop serving."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def answer(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        """Return status, content type and body of a GET."""
        if path == "/livez":
            return _probe(self._is_live())
        if path == "/readyz":
            return _probe(self._is_ready() and not self.draining)
        if path == "/metrics":
            # Imported late: the supervisor sets first what prometheus_client reads when it is imported.
            from services.platform import exposition  # noqa: PLC0415

            return HTTPStatus.OK, exposition.CONTENT_TYPE, exposition.metrics_page(self._settings)
        if path == "/usage":
            reading = read_usage(os.getpid(), self._settings)
            return HTTPStatus.OK, "application/json", json.dumps(dataclasses.asdict(reading)).encode()
        return HTTPStatus.NOT_FOUND, "text/plain", b"try /livez, /readyz, /metrics or /usage\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__((host, port), handler, bind_and_activate=False)
        self.socket.close()  # the base class's own, which is for IPv4 only
        self.socket = addresses.bind(host, port, shared=False)
        self.server_address = addresses.numeric(self.socket)
        self.server_activate()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the base class's types
        """Say nothing of clients that have hung up; let all else be logged."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler_of(admin: AdminServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _READ_TIMEOUT_S
        error_content_type = "text/plain"
        error_message_format = "%(message)s\n"

        def do_GET(self) -> None:
            self._reply(*admin.answer(self.path.partition("?")[0]))

        def do_HEAD(self) -> None:
            self.do_GET()

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            """Refuse; a method that isn't here is to the base class one that nobody has implemented."""
            if code == HTTPStatus.NOT_IMPLEMENTED:
                self._reply(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"only GET and HEAD\n", Allow="GET, HEAD")
            else:
                super().send_error(code, message, explain)

        def _reply(self, status: HTTPStatus, content_type: str, body: bytes, **headers: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - the base class's names
            """Say nothing: probes come every second."""

    return Handler


def _probe(good: bool) -> tuple[HTTPStatus, str, bytes]:  # noqa: FBT001
    return (HTTPStatus.OK, "text/plain", b"ok\n") if good else (HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"no\n")
